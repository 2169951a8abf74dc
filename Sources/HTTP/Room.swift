// The room `HTTP`: see the table of rooms in README.md.
