// The room `Postgres`: see the table of rooms in README.md.
