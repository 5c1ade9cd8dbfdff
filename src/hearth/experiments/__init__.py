"""Runs that are repeated and compared: series, comparisons, characterisations, their statistics."""
