"""What a person reads in a terminal: trees, tables, the map of a machine."""
