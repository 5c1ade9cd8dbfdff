"""The demonstration: its data and its job."""
