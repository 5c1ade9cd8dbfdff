"""Measuring a run from outside: its record, the probes that fill it, what the record tells."""
