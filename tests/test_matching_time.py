"""What is matched against text of others takes time in proportion to that text."""

import importlib
import pkgutil
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import pytest

import hearth
from hearth.analysis.failure import cause_of
from hearth.base.redaction import Redaction

_LENGTH = 50_000
#: Linear matching of so much text takes some tenths of a second, quadratic matching many.
_MOST_CPU_S = 1.0


def patterns() -> Iterator[tuple[str, re.Pattern]]:
    """Every compiled pattern that is a global of a module of hearth's."""
    for module in pkgutil.walk_packages(hearth.__path__, "hearth."):
        if module.name == "hearth.__main__":
            continue
        names = vars(importlib.import_module(module.name))
        for name, value in names.items():
            if isinstance(value, re.Pattern):
                yield f"{module.name}.{name}", value


def example(parsed: Iterable) -> list[str]:
    """Short texts, each of which goes one element further into what the parsed pattern matches."""
    texts, text = [], ""
    for code, value in parsed:
        before = text
        match str(code):
            case "LITERAL":
                text += chr(value)
            case "IN":
                text += member(value)
            case "ANY" | "NOT_LITERAL":
                text += "a"
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += whole(value[2]) * max(1, value[0])
            case "SUBPATTERN":
                texts += [before + more for more in example(value[3])]
                text += whole(value[3])
            case "ATOMIC_GROUP":
                texts += [before + more for more in example(value)]
                text += whole(value)
            case "BRANCH":
                texts += [before + more for branch in value[1] for more in example(branch)]
                text += whole(value[1][0])
        if str(code) == "LITERAL" and texts and texts[-1] == before:
            texts.pop()
        texts.append(text)
    return texts


def whole(parsed: Iterable) -> str:
    """The longest of them."""
    return max(example(parsed), key=len, default="")


def member(choices: list) -> str:
    """A character of the class."""
    code, value = choices[0]
    match str(code):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(value), "a")
    return "a"


def attacks(pattern: re.Pattern) -> Iterator[str]:
    """Long texts made of what the pattern begins with, over and over."""
    source = pattern.pattern
    text = source.decode() if isinstance(source, bytes) else source
    units = ["a", " ", "a.", "1", "(", '"', "'", "\\", "/", ":", "=", "-", "a=", "\n"]
    for unit in {*units, *example(re._parser.parse(text, pattern.flags & ~re.UNICODE))} - {""}:
        yield unit * (_LENGTH // len(unit))


def cpu_s(work: Callable, text: str | bytes) -> float:
    """The CPU seconds of one call, which is ended soon after the limit."""
    signal.signal(signal.SIGPROF, _end)
    before = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 1.5 * _MOST_CPU_S)
    try:
        work(text)
    except TimeoutError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - before


def _end(*_: object) -> None:
    raise TimeoutError


@pytest.mark.parametrize(("name", "pattern"), list(patterns()), ids=lambda value: str(value)[:60])
def test_no_text_makes_a_pattern_slow(name: str, pattern: re.Pattern) -> None:
    for text in attacks(pattern):
        subject = text.encode() if isinstance(pattern.pattern, bytes) else text
        taken = cpu_s(lambda given: deque(pattern.finditer(given), 0), subject)
        assert taken < _MOST_CPU_S, f"{name}: {taken:.1f} s for {text[:40]!r}..."


UNITS = (
    "a", "a ", " ", "a=", "password", "password=", "password= ", "password='", 'password="',
    "--token ", "--token", "'--token=", "http://", "a://", "a://b:", "jdbc:oracle:thin:",
    "jdbc:oracle:", "/", "file:/", '"a": ', "token:", "\\", "token=\"\\", "*********(redacted)",
    "a *********(redacted)",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_setting_is_redacted_in_time(unit: str) -> None:
    redaction = Redaction.of({})
    for text in (unit * (_LENGTH // len(unit)), "x" + unit * (_LENGTH // len(unit)) + "@"):
        for work in (
            redaction.text,
            lambda value: redaction.setting("spark.my.option", value),
            lambda value: redaction.words(["job.py", value, "--conf", f"spark.x={value}"]),
        ):
            assert cpu_s(work, text) < _MOST_CPU_S


@pytest.mark.parametrize(
    "unit",
    ["Traceback (most recent call last):\n", "Caused by: ", "most recent failure: Lost task "],
)
def test_the_cause_of_a_failure_is_found_in_time(unit: str) -> None:
    assert cpu_s(cause_of, unit * (_LENGTH // len(unit))) < _MOST_CPU_S
