// The room `Entitlements`: see the table of rooms in README.md.
