"""Machines of a fleet, from their captures: which are alike, and what the odd ones have wrong."""
