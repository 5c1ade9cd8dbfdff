"""Memory modules as the firmware describes them (DMTF DSP0134: SMBIOS, structures of type 17)."""

from typing import NamedTuple

from hearth.doctor.tree import NotSeen, Tree

FOLDER = "sys/firmware/dmi/entries"
_LOCATOR, _BANK, _SIZE, _SPEED, _EXTENDED, _CONFIGURED = 0x10, 0x11, 0x0C, 0x15, 0x1C, 0x20
#: A size that stands in the extended field; one that is unknown.
_LARGE, _UNKNOWN = 0x7FFF, 0xFFFF
_MOST = 4096


class Module(NamedTuple):
    """A place for a module. size_mb: 0 where there is none. speeds: in MT/s, None if not told."""

    locator: str
    bank: str
    size_mb: int
    rated: int | None
    now: int | None


def modules(tree: Tree) -> list[Module]:
    """Return all places for modules, also empty ones; raise NotSeen."""
    names = tree.names(FOLDER, r"17-\d{1,4}")
    found = [_module(tree.data(f"{FOLDER}/{name}/raw", _MOST)) for name in names]
    known = [one for one in found if one is not None]
    if not known:
        raise NotSeen(f"the firmware describes no memory module in /{FOLDER}")
    return known


def _module(raw: bytes) -> Module | None:
    """Return what a structure tells; None for one that is cut or of another type."""
    length = raw[1] if len(raw) > 1 else 0
    if length < _SPEED or len(raw) < length or raw[0] != 17:
        return None
    size = _word(raw, _SIZE, length)
    if size in (None, _UNKNOWN):
        return None
    if size == _LARGE:
        size = int.from_bytes(raw[_EXTENDED : _EXTENDED + 4], "little") if length > 0x1F else None
        if not size:
            return None
    texts = raw[length:].split(b"\0")
    rated, now = (_speed(raw, at, length) for at in (_SPEED, _CONFIGURED))
    return Module(_text(texts, raw[_LOCATOR]), _text(texts, raw[_BANK]), size or 0, rated, now)


def _word(raw: bytes, at: int, length: int) -> int | None:
    return int.from_bytes(raw[at : at + 2], "little") if at + 2 <= length else None


def _speed(raw: bytes, at: int, length: int) -> int | None:
    value = _word(raw, at, length)
    return value if value is not None and 0 < value < _UNKNOWN else None


def _text(texts: list[bytes], number: int) -> str:
    """Return the string of this number, counted from one; empty for none."""
    text = texts[number - 1] if 0 < number <= len(texts) else b""
    return "".join(c for c in text.decode("ascii", "replace").strip()[:64] if c.isprintable())
