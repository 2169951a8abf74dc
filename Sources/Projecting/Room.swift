// The room `Projecting`: see the table of rooms in README.md.
