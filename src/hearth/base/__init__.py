"""Values that every layer knows: sizes, id lists, the user's errors. Imports nothing of hearth."""
