"""Numbers with their noun, for sentences."""


def counted(number: int, noun: str) -> str:
    """Return such as `1 core`, `2 cores`, `1,500 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
