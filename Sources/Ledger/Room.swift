// The room `Ledger`: see the table of rooms in README.md.
