"""A characterisation on the page: each question, its answer, its arms, and what has none."""

from itertools import groupby
from typing import Any

from hearth.report.html import pictures
from hearth.report.html.arms import draw_arms
from hearth.report.html.svg import element, table, text

Document = dict[str, Any]


def characterisation_links(document: Document) -> list[tuple[str, str]]:
    """Of each question: where it stands, and its words."""
    several = len(document["subjects"]) > 1
    return [
        (f"#question{number}", f"{q['subject']}: {q['key']}" if several else q["key"].capitalize())
        for number, q in enumerate(document["questions"])
    ]


def draw_characterisation(document: Document) -> str:
    """A section for each question, below its subject."""
    numbered = enumerate(document["questions"])
    parts = []
    for subject, questions in groupby(numbered, key=lambda pair: pair[1]["subject"]):
        parts.append(element("h2", text(subject)))
        parts += [_question(question, number) for number, question in questions]
    return "".join(parts)


def _question(question: Document, number: int) -> str:
    head = element("h3", text(f"{question['title']} ({question['source']})"))
    notes = [element("li", text(note)) for note in question["notes"]]
    shown = element("ul", *notes, class_="quiet") if notes else ""
    return element(
        "section", head, _answer(question), shown, id=f"question{number}",
        aria_label=question["title"],
    )  # fmt: skip


def _answer(question: Document) -> str:
    if "reason" in question:
        return element("p", text(f"Not answered here: {question['reason']}."), class_="absent")
    why = [element("li", text(line)) for line in question["why"]]
    parts = [element("p", text(question["sentence"]), class_="verdict")]
    parts += [element("ul", *why)] if why else []
    parts += [pictures.heat_map(question["cells"])] if question.get("cells") else []
    parts += [_streams(question["streams"])] if question.get("streams") else []
    if "sides" in question:
        rows = [[s["measure"], s["batch"], s["streaming"]] for s in question["sides"]]
        return "".join([*parts, table(["", "batch", "streaming"], rows, "Side by side")])
    timed = question["comparison"]["settings"]["timed"]
    parts += [
        draw_arms(question["comparison"]),
        element("p", f"Timed: {text(timed)}.", class_="quiet"),
    ]
    return "".join(parts)


def _streams(streams: list[Document]) -> str:
    head = ["events/s", "processing ms", "most delay ms", "not sent", "kept up"]
    rows = [
        [s["rate"], s["processing_ms"], "-" if s["delay_ms"] is None else s["delay_ms"],
         s["unsent"], "yes" if s["kept_up"] else "no"]
        for s in streams
    ]  # fmt: skip
    return table(head, rows, "Streams by rate of events")
