// The room `Operation`: see the table of rooms in README.md.
