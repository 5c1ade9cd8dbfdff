"""The demonstration: its data, its jobs, and the check of their results by another engine."""
