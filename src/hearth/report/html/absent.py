"""What a run does not know, said in words on the page."""

from hearth.model.measured import Absent
from hearth.report.html.svg import element, text


def say_absent(what: str, absent: Absent) -> str:
    return element("p", f"{text(what)}: not available: {text(absent.reason)}", class_="absent")
