"""Measuring a run from outside: its record, and the probes that fill it."""
