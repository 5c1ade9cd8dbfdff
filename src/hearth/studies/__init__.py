"""Runs that are repeated and compared, and what they say."""
