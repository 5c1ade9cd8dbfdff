"""Check of the streaming jobs: a recount, in plain Python, of what the data server logged.

The log holds every event really sent, in order; the result tells how many of them each
micro-batch read. As one connection keeps the order, batch after batch takes its share of the log:
an event that was lost, or counted twice, shows in the totals or in the counts of some batch.

What each job answers is defined at its Scala object (`io.hearth.workloads.streaming`).
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hearth.workloads.checks import Check, FinishedRun, UncheckedError, WrongAnswerError

#: The log is read whole; above this many bytes no check is made.
LIMIT_BYTES = 256 << 20
#: Of models, relative to a coordinate or to 1: sums of floating-point numbers in another order.
TOLERANCE = 1e-6
#: MLlib's gradient descent ends when a step is shorter than this (relative to the weights, or 1).
_CONVERGED = 0.001


@dataclass(frozen=True)
class _Batch:
    """A micro-batch and the events that it read."""

    id: int
    time_ms: int
    events: list[str]
    began_ms: int = 0
    ended_ms: int = 0


class _Recording:
    """A run's batches with their events, and its answers."""

    def __init__(self, run: FinishedRun) -> None:
        self.parameters = run.parameters
        self.answer = run.result["answer"]
        streaming = run.result["streaming"]
        self.structured = streaming["api"] == "structured"
        log = run.data["stream"]
        if log.stat().st_size > LIMIT_BYTES:
            raise UncheckedError(f"the log is larger than {LIMIT_BYTES >> 20} MB")
        self.events = _whole_lines(log)
        self.batches = _batches(self.events, streaming)
        text = _whole_lines(run.answer / "batches.jsonl")
        self.answers: list[dict[str, Any]] = [json.loads(line) for line in text]

    def milliseconds(self, name: str) -> int:
        return int(self.parameters[name]) * 1000

    def by_batch(self) -> list[tuple[_Batch, dict[str, Any]]]:
        """Return each batch with its one answer."""
        ids = Counter(answer["id"] for answer in self.answers)
        known = {answer["id"]: answer for answer in self.answers}
        twice = [batch for batch, answers in ids.items() if answers > 1]
        if twice:
            raise WrongAnswerError(f"batch {twice[0]} has {ids[twice[0]]} answers")
        missing = [batch.id for batch in self.batches if batch.events and batch.id not in known]
        if missing:
            raise WrongAnswerError(f"batch {missing[0]} has no answer")
        # Batches that ended after the run's last look had no events: they must count nothing.
        listed = {batch.id for batch in self.batches}
        later = [_Batch(batch, batch, []) for batch in sorted(known.keys() - listed)]
        both = [*self.batches, *later]
        return [(batch, known[batch.id]) for batch in both if batch.id in known]

    def windows(
        self, answers: list[dict[str, Any]], window_ms: int, slide_ms: int
    ) -> list[tuple[list[str], dict[str, Any]]]:
        """Yield each answer of a DStream's window with the events of the batches in it.

        The window with id T holds the batches of times in (T - window, T].
        """
        times = [answer["id"] for answer in answers]
        wrong = [b for a, b in pairwise(times) if b - a != slide_ms]
        if wrong or not times:
            raise WrongAnswerError(f"no window ends {slide_ms} ms before {(wrong or ['any'])[0]}")
        full = [batch.time_ms for batch in self.batches if batch.events]
        if full[0] <= times[0] - window_ms or full[-1] > times[-1]:
            raise WrongAnswerError("some events are in no window")
        return [
            (
                [
                    event
                    for batch in self.batches
                    if answer["id"] - window_ms < batch.time_ms <= answer["id"]
                    for event in batch.events
                ],
                answer,
            )
            for answer in answers
        ]


def _whole_lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def _batches(events: list[str], streaming: dict[str, Any]) -> list[_Batch]:
    """Return the log cut into batches, once all totals agree."""
    read = sum(batch["events"] for batch in streaming["batches"])
    totals = {
        "the server says that it sent": streaming["events_sent"],
        "the job says that it processed": streaming["events_processed"],
        "its batches add up to": read,
    }
    for what, total in totals.items():
        if total != len(events):
            raise WrongAnswerError(f"{what} {total:,} events, the log holds {len(events):,}")
    if not events:
        raise WrongAnswerError("not one event was sent")
    batches, start = [], 0
    for batch in streaming["batches"]:
        end = start + batch["events"]
        began = batch["time_ms"] + batch["scheduling_delay_ms"]
        ended = began + batch["processing_ms"]
        batches.append(_Batch(batch["id"], batch["time_ms"], events[start:end], began, ended))
        start = end
    return batches


def _same(what: str, expected: Any, actual: Any) -> None:
    """Raise where two counts differ, or two tables of counts in some key."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = [k for k in expected | actual if expected.get(k) != actual.get(k)]
        if keys:
            key = min(keys)
            pair = f"{actual.get(key, 'none')}, the recount says {expected.get(key, 'none')}"
            raise WrongAnswerError(f"{what}: {len(keys)} counts differ, '{key}': {pair}")
    elif expected != actual:
        raise WrongAnswerError(f"{what}: {actual}, the recount says {expected}")


# What the jobs count


def _words(events: Iterable[str]) -> dict[str, Any]:
    return Counter(word for line in events for word in line.split(" ") if word)


def _field(place: int) -> Callable[[Iterable[str]], dict[str, Any]]:
    return lambda events: Counter(line.split("\t")[place] for line in events)


_USER, _PAGE, _STATUS, _ZIP = 1, 2, 3, 4


def _zips(events: Iterable[str]) -> dict[str, Any]:
    """Return [events, errors] of each zip code."""
    counts: dict[str, list[int]] = {}
    for line in events:
        fields = line.split("\t")
        pair = counts.setdefault(fields[_ZIP], [0, 0])
        pair[0] += 1
        pair[1] += fields[_STATUS] != "200"
    return counts


def _tags(events: Iterable[str]) -> dict[str, Any]:
    words = (word for line in events for word in line.split("\t")[2].split(" "))
    return Counter(word for word in words if word.startswith("#"))


# How they are compared with the recount


def _each_batch(count: Callable[[Iterable[str]], dict[str, Any]]) -> Callable[[_Recording], str]:
    def compare(recording: _Recording) -> str:
        for batch, answer in recording.by_batch():
            _same(f"batch {batch.id}", dict(count(batch.events)), answer["counts"])
        return "the counts of each batch equal a recount"

    return compare


def _each_window(
    count: Callable[[Iterable[str]], dict[str, Any]], name: str
) -> Callable[[_Recording], str]:
    def compare(recording: _Recording) -> str:
        if recording.structured:
            return _arrival_windows(recording, count)
        window, slide = recording.milliseconds("window-s"), recording.milliseconds("slide-s")
        for events, answer in recording.windows(recording.answers, window, slide):
            _same(f"window {answer['id']}", dict(count(events)), answer[name])
        return "the counts of each window equal a recount of its batches"

    return compare


def _arrival_windows(
    recording: _Recording, count: Callable[[Iterable[str]], dict[str, Any]]
) -> str:
    """Check windows of arrival times. Arrival keeps the log's order, so each pane (the part between
    two starts of windows) is a stretch of the log; its length follows from the windows' own totals,
    and its events were read by batches of its time.
    """
    final: dict[int, dict[str, Any]] = {}
    for answer in recording.answers:
        for start, counts in answer["windows"].items():
            final.setdefault(int(start), {}).update(counts)
    window, slide = recording.milliseconds("window-s"), recording.milliseconds("slide-s")
    panes = _panes({start: _lines(counts) for start, counts in final.items()}, window, slide)
    _same("all panes together", len(recording.events), sum(panes.values()))
    arrived, stretches, begin = _arrivals(recording.batches), {}, 0
    for pane in sorted(panes):
        end = begin + panes[pane]
        stretches[pane] = recording.events[begin:end]
        other = sum(a >= pane + slide or b < pane for a, b in arrived[begin:end])
        if other:
            raise WrongAnswerError(f"{other} events from {pane} on were read at another time")
        begin = end
    for start, counts in final.items():
        inside = [stretches.get(pane, []) for pane in range(start, start + window, slide)]
        expected = dict(count([event for stretch in inside for event in stretch]))
        actual = {key: value for key, value in counts.items() if key != "\n"}
        _same(f"window from {start}", expected, actual)
    return f"{len(final)} windows of arrival times equal a recount"


def _arrivals(batches: list[_Batch]) -> list[tuple[int, int]]:
    """Return the earliest and the latest arrival time (ms) of each event.

    A batch reads what came since the one before it had begun; on a busy machine an event may have
    its time and not be handed over yet, so that it misses one batch.
    """
    times, before_last, last = [], 0, 0
    for batch in batches:
        times += [(before_last, batch.ended_ms)] * len(batch.events)
        before_last, last = last, batch.began_ms
    return times


def _lines(counts: dict[str, Any]) -> int:
    """Return how many events a window says that it holds."""
    if "\n" in counts:
        return int(counts["\n"])
    return sum(value[0] if isinstance(value, list) else value for value in counts.values())


def _panes(totals: dict[int, int], window_ms: int, slide_ms: int) -> dict[int, int]:
    """Count events in each pane: the last one of a window is what its others leave of its total."""
    panes: dict[int, int] = {}
    for start in range(min(totals), max(totals) + 1, slide_ms):
        others = range(start, start + window_ms - slide_ms, slide_ms)
        last = totals.get(start, 0) - sum(panes.get(pane, 0) for pane in others)
        if last < 0:
            raise WrongAnswerError(f"window from {start}: less than its parts hold")
        panes[start + window_ms - slide_ms] = last
    return panes


def _grep(recording: _Recording) -> str:
    pattern = recording.parameters["pattern"]
    for batch, answer in recording.by_batch():
        matching = [line for line in batch.events if pattern in line]
        _same(f"batch {batch.id}: lines", len(matching), answer["matched"])
        _same(f"batch {batch.id}: length", sum(map(len, matching)), answer["bytes"])
    return "the matching lines of each batch equal a recount"


def _stateful(recording: _Recording) -> str:
    totals: Counter[str] = Counter()
    for batch, answer in recording.by_batch():
        counts = _words(batch.events)
        totals.update(counts)
        _same(f"batch {batch.id}", {word: totals[word] for word in counts}, answer["totals"])
    return "the running totals after each batch equal a recount"


def _active_users(recording: _Recording) -> str:
    window, slide = recording.milliseconds("window-s"), recording.milliseconds("slide-s")
    for events, answer in recording.windows(recording.answers, window, slide):
        users = {line.split("\t")[_USER] for line in events}
        _same(f"window {answer['id']}", len(users), answer["users"])
    return "the users of each window equal a recount"


def _popular_users(recording: _Recording) -> str:
    popular = int(recording.parameters["popular"])
    for batch, answer in recording.by_batch():
        views = _field(_USER)(batch.events)
        expected = {f"user-{u}": n for u, n in views.items() if int(u) < popular}
        _same(f"batch {batch.id}", expected, answer["counts"])
    return "the views of each popular user equal a recount"


def _popular_tags(recording: _Recording) -> str:
    top, slide = int(recording.parameters["top"]), recording.milliseconds("slide-s")
    for name in ("window-s", "short-window-s"):
        length = recording.milliseconds(name)
        answers = [answer for answer in recording.answers if answer["window_ms"] == length]
        for events, answer in recording.windows(answers, length, slide):
            ranked = sorted(_tags(events).items(), key=lambda pair: (-pair[1], pair[0]))
            expected = [list(pair) for pair in ranked[:top]]
            _same(f"window of {length} ms to {answer['id']}", expected, answer["top"])
    return "the most frequent tags of each window equal a recount"


def _count_min(recording: _Recording) -> str:
    """Check that estimates are not below the count, nor above it by more than epsilon of all.

    Nobody is missing whose count is above the smallest estimate that is named.
    """
    epsilon, wanted = float(recording.parameters["epsilon"]), int(recording.parameters["top"])
    counts: Counter[str] = Counter()
    for batch, answer in recording.by_batch():
        counts.update(_field(_USER)(batch.events))
        where, named = f"batch {batch.id}", dict(answer["top"])
        _same(f"{where}: total", counts.total(), answer["total"])
        _same(f"{where}: users named", min(wanted, len(counts)), len(named))
        for user, estimate in named.items():
            if not counts[user] <= estimate <= counts[user] + epsilon * counts.total():
                raise WrongAnswerError(f"{where}: {user} has {counts[user]}, estimate {estimate}")
        missed = [u for u, n in counts.items() if u not in named and n > min(named.values())]
        if missed:
            raise WrongAnswerError(f"{where}: {missed[0]} ({counts[missed[0]]}) is not named")
    return f"estimates within {epsilon} of all events above a recount"


def _unique_users(recording: _Recording) -> str:
    """Check each estimate to 5 standard errors (there are many), the last to 3."""
    error = 1.04 / math.sqrt(2 ** int(recording.parameters["lg-k"]))
    so_far: set[str] = set()
    full = [pair for pair in recording.by_batch() if pair[0].events]
    for batch, answer in full:
        users = {line.split("\t")[_USER] for line in batch.events}
        so_far |= users
        allowed = (3 if batch is full[-1][0] else 5) * error
        for name, exact in (("users", len(users)), ("users_so_far", len(so_far))):
            if name in answer and abs(answer[name] - exact) > allowed * exact + 0.5:
                raise WrongAnswerError(f"batch {batch.id}: {name} {answer[name]} of {exact}")
    return f"estimates within {3 * error:.1%} (3 standard errors) of a recount"


# Models, by numpy


def _close(what: str, expected: Any, actual: Any) -> None:
    import numpy

    difference = numpy.abs(numpy.asarray(actual) - expected) / numpy.maximum(1, abs(expected))
    # Not `>`: NaN must not pass.
    if not (difference.shape == expected.shape and bool((difference <= TOLERANCE).all())):
        raise WrongAnswerError(f"{what}: {difference.max():.2g} away from numpy's")


def _numbers(events: list[str]) -> Any:
    import numpy

    return numpy.array([line.split(" ") for line in events], dtype=float)


def _clusters(recording: _Recording) -> str:
    """Check that each batch moves its points' nearest centres by weight (StreamingKMeans)."""
    import numpy

    centres = numpy.array(recording.answer["initial_centres"])
    weights = numpy.ones(len(centres))
    decay = float(recording.parameters["decay"])
    for batch, answer in recording.by_batch():
        weights = weights * decay
        if batch.events:
            points = _numbers(batch.events)
            nearest = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
            for c in numpy.unique(nearest):
                members = points[nearest == c]
                total = weights[c] + len(members)
                centres[c] = (weights[c] * centres[c] + members.sum(axis=0)) / total
                weights[c] = total
        if weights.min() < 1e-8 * weights.max():
            raise UncheckedError("a centre died out, and Spark splits another: not recomputed")
        _close(f"batch {batch.id}: weights", weights, answer["weights"])
        _close(f"batch {batch.id}: centres", centres, answer["centres"])
    return f"the centres after each batch equal numpy's (to {TOLERANCE})"


def _regression(label: int, residual: Callable[[Any, Any], Any]) -> Callable[[_Recording], str]:
    def compare(recording: _Recording) -> str:
        import numpy

        step = float(recording.parameters["step-size"])
        iterations = int(recording.parameters["iterations"])
        weights = numpy.zeros(_numbers(recording.events[:1]).shape[1] - 2)
        for batch, answer in recording.by_batch():
            if batch.events:
                rows = _numbers(batch.events)
                weights = _descend(weights, rows[:, 2:], rows[:, label], residual, step, iterations)
            _close(f"batch {batch.id}: weights", weights, answer["weights"])
        return f"the weights after each batch equal numpy's (to {TOLERANCE})"

    return compare


def _descend(
    weights: Any, x: Any, y: Any, residual: Callable[[Any, Any], Any], step: float, iterations: int
) -> Any:
    """Descend by gradients with steps of step / sqrt(i), until one is short (MLlib's rule, which
    leaves out the first).
    """
    import numpy

    for i in range(1, iterations + 1):
        change = -step / math.sqrt(i) * (residual(x @ weights, y) @ x) / len(y)
        weights = weights + change
        short = _CONVERGED * max(float(numpy.linalg.norm(weights)), 1.0)
        if i > 1 and numpy.linalg.norm(change) < short:
            break
    return weights


def _logistic(product: Any, label: Any) -> Any:
    import numpy

    return 1 / (1 + numpy.exp(-product)) - label


def _check(compare: Callable[[_Recording], str]) -> Check:
    def check(run: FinishedRun) -> str:
        recording = _Recording(run)
        return f"{len(recording.events):,} events, each once; {compare(recording)}"

    return check


_COMPARED: dict[str, Callable[[_Recording], str]] = {
    "streaming-network-word-count": _each_batch(_words),
    "streaming-network-grep": _grep,
    "streaming-windowed-word-count": _each_window(_words, "counts"),
    "streaming-stateful-word-count": _stateful,
    "streaming-sql-word-count": _each_batch(_words),
    "streaming-click-error-rate-per-zip": _each_window(_zips, "zips"),
    "streaming-click-page-counts": _each_batch(_field(_PAGE)),
    "streaming-click-sliding-page-counts": _each_window(_field(_PAGE), "counts"),
    "streaming-click-active-user-count": _active_users,
    "streaming-click-popular-users-seen": _popular_users,
    "streaming-popular-tags": _popular_tags,
    "streaming-count-min-top-k": _count_min,
    "streaming-hll-unique-users": _unique_users,
    "streaming-kmeans": _clusters,
    "streaming-linear-regression": _regression(1, lambda product, target: product - target),
    "streaming-logistic-regression": _regression(0, _logistic),
}

STREAMS = {job: _check(compare) for job, compare in _COMPARED.items()}
