"""Reports in the terminal: trees, tables, the map of a machine."""
