"""Reports for people: in the terminal, and as HTML pages."""
