"""Words of documents as sentences."""


def sentence(text: str) -> str:
    """With a capital first and one full stop at its end; nothing where there is nothing."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
