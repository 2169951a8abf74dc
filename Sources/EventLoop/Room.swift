// The room `EventLoop`: see the table of rooms in README.md.
