// The room `Crypto`: see the table of rooms in README.md.
