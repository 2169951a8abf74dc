// The room `Daemon`: see the table of rooms in README.md.
