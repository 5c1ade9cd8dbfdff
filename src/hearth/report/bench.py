"""The table of `hearth bench`: times of each job under each master, and what they are worth."""

from typing import Any

from hearth.report.terminal import Screen, table

Row = dict[str, Any]
_RIGHT = "seconds min-max ratio"


def show_rows(rows: list[Row], settings: dict[str, Any], screen: Screen) -> list[str]:
    """The lines of the table, one row for each job and master, and a note on how to read it."""
    head = ["job", "master", "seconds", "min-max", "ratio", "95 %", "answer"]
    lines = table(screen, head, [_cells(row) for row in rows], right=_RIGHT)
    stream = [row for row in rows if "stream" in row]
    if stream:
        lines += ["", *_streams(stream, screen)]
    return [*lines, "", *_notes(rows, settings, screen)]


def _cells(row: Row) -> list[str]:
    if "seconds" not in row:
        why = f"failed: {row['reason']}" if "reason" in row else "not run"
        return [row["label"], row["master"], "-", "-", "-", "-", why]
    seconds = row["seconds"]
    spread = f"{seconds['least']:.2f}-{seconds['most']:.2f}" if seconds["runs"] > 1 else "one run"
    ratio, interval = "-", "-"
    if "ratio" in row:
        ratio = f"{row['ratio']['value']:.2f}"
        if row["ratio"]["interval"] is not None:
            interval = "[{:.2f}, {:.2f}]".format(*row["ratio"]["interval"])
    return [row["label"], _master(row), f"{seconds['median']:.2f}", spread, ratio, interval,
            _answer(row)]  # fmt: skip


def _master(row: Row) -> str:
    """The master asked for, with what it became where the plan chose: `local-numa (local[2])`."""
    became = ", ".join(row["ran_as"])
    chosen = row["master"] == "local-numa" or (
        became.startswith("local[") and "numa" in row["master"]
    )
    return f"{row['master']} ({became})" if chosen else row["master"]


def _answer(row: Row) -> str:
    answer, failed = row["answer"], row["failed"]
    text = answer["status"]
    if text != "checked":
        text += f": {answer['detail']}"
    return f"{text}; {failed} failed: {row['reason']}" if failed else text


def _streams(rows: list[Row], screen: Screen) -> list[str]:
    head = ["stream", "master", "events", "unsent", "batch ms", "p95", "delay ms", "kept up"]
    body = [[row["label"], row["master"], *(str(row["stream"][key]) for key in _STREAM_KEYS)]
            for row in rows]  # fmt: skip
    return table(screen, head, body, right="events unsent")


_STREAM_KEYS = ("events", "unsent", "median_ms", "p95_ms", "delay_ms", "kept_up")


def _notes(rows: list[Row], settings: dict[str, Any], screen: Screen) -> list[str]:
    repeat, warmup = settings["repeat"], settings["warmup"]
    warm = f"{warmup} warm-up run{'s' * (warmup != 1)} of each dropped" if warmup else "no warm-up"
    text = f"seconds: median of {repeat} run{'s' * (repeat != 1)} of each, {warm}"
    if any("ratio" in row for row in rows):
        text += f"; ratio: to {rows[0]['master']}, below 1 is faster"
    text += "; interval: bootstrap over paired repetitions" if repeat > 2 else (
        "; so few runs say nothing of the spread: --repeat 5 does"
    )  # fmt: skip
    return [screen.paragraph(f"{text}.", indent="  ")]
