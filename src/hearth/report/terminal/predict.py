"""A prediction in the terminal: partitionings, the fastest first, or a table of node counts."""

from typing import Any

from hearth.report.terminal.screen import Screen, table

Document = dict[str, Any]
_BOUND = {"none": "nothing", "node": "nodes", "package": "packages"}


def show_prediction(document: Document, screen: Screen) -> list[str]:
    """The table, with what it was made from."""
    if "scaling" in document:
        return _scaling(document, screen)
    run = document["from"]
    name = run["id"] or run["application"] or "the event log"
    text = (
        f"From {name}: {run['seconds']:.1f} s with {run['executors']}x{run['cores']}, "
        f"{run['tasks']} tasks in {run['stages']} stages."
    )
    rows = [
        [f"{one['executors']}x{one['cores']}", f"{one['value']:.1f}",
         f"{one['low']:.1f} to {one['high']:.1f}",
         f"{one['value'] / run['seconds'] - 1:+z.0%}"]
        for one in document["predictions"]
    ]  # fmt: skip
    head_place = _place(document["place"])
    head = ["executors x cores", "seconds", f"{document['confidence']:.0%} interval", "change"]
    lines = [screen.paragraph(text, "  "), *(screen.paragraph(t, "  ") for t in head_place), ""]
    lines += [*table(screen, head, rows, "seconds change")]
    notes = [
        *document["notes"],
        "the start of Spark, the input and the heaps' sum are as in the run",
    ]
    return [*lines, "", *(screen.paragraph(screen.paint(f"{n}.", "dim"), "  ") for n in notes)]


def _place(place: Document) -> list[str]:
    """Where it was and is asked about, where either differs."""
    before, after, effect = place["from"], place["to"], place["effect"]
    if before == after:
        return []

    def shown(one: Document) -> str:
        number = one["nodes"]
        return f"bound to {_BOUND[one['binding']]}, {number} node{'s' if number > 1 else ''}"

    lines = [f"It was {shown(before)}; predicted: {shown(after)}."]
    if "absent" not in effect:
        lines.append(
            f"Nearer or farther memory accounts for {effect['value'] - 1:+.0%} of the time "
            f"({effect['low'] - 1:+.0%} to {effect['high'] - 1:+.0%})."
        )
    return lines


def _scaling(document: Document, screen: Screen) -> list[str]:
    rows = [
        [one["workload"], str(one["nodes"]), f"{one['predicted']:.3f}", f"{one['measured']:.3f}",
         f"{one['error']:+.1%}"]
        for one in document["scaling"]
    ]  # fmt: skip
    head = ["workload", "nodes", "predicted", "measured", "error"]
    note = "time relative to 1 node, from 1 and 2 nodes; each workload from the others"
    lines = table(screen, head, rows, "nodes predicted measured error")
    return [*lines, "", screen.paragraph(screen.paint(f"{note}.", "dim"), "  ")]
