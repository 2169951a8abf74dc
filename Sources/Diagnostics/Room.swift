// The room `Diagnostics`: see the table of rooms in README.md.
