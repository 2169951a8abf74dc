// The room `AppStore`: see the table of rooms in README.md.
