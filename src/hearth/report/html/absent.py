"""What a run does not know: `{"absent": reason}` in its analysis, said in words on the page."""

from typing import Any

from hearth.report.html.svg import element, text


def reason_absent(value: Any) -> str | None:
    """Why there is no value; None where there is one."""
    if value is None:
        return "not recorded"
    if isinstance(value, dict) and set(value) == {"absent"}:
        return str(value["absent"])
    return None


def say_absent(what: str, reason: str) -> str:
    return element("p", f"{text(what)}: not available: {text(reason)}", class_="absent")
