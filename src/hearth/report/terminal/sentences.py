"""Words of documents as sentences."""


def sentence(text: str) -> str:
    """Capitalise a text and end it with one full stop; leave an empty text empty."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
