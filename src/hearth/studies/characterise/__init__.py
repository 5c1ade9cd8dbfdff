"""Ask the published studies' questions of this machine."""
