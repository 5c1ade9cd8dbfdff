"""A tune on the page: what its template shows."""

from typing import Any

from hearth.report.html.shown import Cell
from hearth.report.terminal import tune

View = dict[str, Any]


def tune_view(document: tune.Document) -> View:
    """The best configuration and why, the trials, the model's surface with its uncertainty."""
    objective = document["settings"]["objective"]
    return {
        "sentence": tune.sentence(document),
        "why": [] if "absent" in document["best"] else document["best"]["why"],
        "warnings": [f"{text}." for text in document["warnings"]],
        "head": ["trial", "configuration", "why tried", *tune.HEAD[objective]],
        "trials": [_row(trial) for trial in tune.rows(document)],
        "front": tune.front_words(document),
        "heat": _heat(document),
        "notes": tune.notes(document),
    }


def _row(cells: list[str]) -> list[Cell]:
    return list(cells)


def _heat(document: tune.Document) -> View | None:
    """Executors down, cores of each across; tinted from the shortest forecast to the longest."""
    found = {(one["executors"], one["cores"]): one for one in tune.surface(document)}
    if not found:
        return None
    rows, columns = (sorted({key[at] for key in found}) for at in (0, 1))
    values = [one["value"] for one in found.values()]
    low, high = min(values), max(values)
    best = document["best"]["configuration"]["shown"]

    def shown(one: tune.Document | None) -> View | None:
        if one is None:
            return None
        share = (one["value"] - low) / ((high - low) or 1)
        return {"words": tune.forecast(one, document), "tint": round(60 * share),
                "best": one["configuration"] == best}  # fmt: skip

    some = next(iter(found.values()))
    return {
        "columns": [f"{cores} core{'s' if cores > 1 else ''}" for cores in columns],
        "rows": [
            {"name": row, "cells": [shown(found.get((row, column))) for column in columns]}
            for row in rows
        ],
        "fastest": tune.value(low, document),
        "slowest": tune.value(high, document),
        "choices": ", ".join(some["choices"][1:]),
    }
