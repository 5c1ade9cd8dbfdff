"""docs/studies.md, from the presets themselves."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from hearth.studies.published.preset import Answer, Preset, Value, names, preset
from support import filled

_HEAD = """# Published studies, number by number

hearth rests on five [studies](sources.md). Each of their experiments is a preset of `hearth
study`: it says what was run, runs it on your machine, whole or smaller, and prints its
table beside the published one.

```sh
hearth lab study list
hearth lab study show baig-binding
hearth lab study run baig-sweep --scale 0.01 --dry-run
hearth lab study run baig-sweep --scale 0.01 --steps PageRank --repeat 3 --html sweep.html
hearth lab study run --all --scale 0.01 --budget 3h --html studies.html
```

A preset holds workloads with their sizes and partitions, Spark's settings, the configurations
that are compared, repetitions, warm-up, and whether the page cache is dropped before each run.
Its steps are hearth commands (`hearth lab characterise`, `compare`, `bench`, `colocate`, `plan`),
so their runs alternate, are recorded and can be resumed as usual. What this machine
cannot do is a line with its reason before anything runs. `--scale 0.01` takes a hundredth of the
study's data, partitions, durations and counts, so that a task reads about as much as it did
there. Executors and cores follow from your machine's nodes and cores, and heaps from its memory,
except Chiba's, which are the study's, scaled. `--budget` is divided evenly among the steps, two
minutes or more for each: as many as that allows, first those that say whether binding pays; it
says before it starts which run, and `--resume` with another budget runs the others, and again
those with too few runs for an interval.
The result is kept: `hearth runs` lists it, and `hearth report ID` shows it again.

Each published ratio is judged: **reproduced**, where the 95 % interval of the runs here holds it
but not 1, and its ends are less than 1.5 times apart, or lies within 5 % of it, or half of the
effect if that is less; **contradicted**, where it does neither, and "up to" a figure only where
it is above; **undecided**, where it is wider, holds 1 as well, or fewer than three runs were
made; **not here**, with the reason, such as that it was found on 120 cores. Counters of each run
are judged like times. Seconds and gigabytes are of their machine and are not judged; cells of a
sweep are judged by their ratio to the best cell. The first table says how many there are of each,
and whether binding paid.

Below is every number that the studies published, with the command that measures it, under an
answer:

- **measured**: hearth's benchmarks tried it, on the machine named; the link has the command and
  the raw results.
- **predicted**: by one of hearth's models that did not know it, or by arithmetic; what it says, and
  how far that is off as a ratio of times, stand behind the published number.
- **taken**: hearth's plan was given what this study found, so that it says the same is no evidence.
- **open**: the machines that hearth was developed on (2 and 16 CPUs, virtual, one NUMA node, no
  hardware counters) cannot answer it. The command does, on a machine such as the one named.

Baig and Chiba argue by counts too: how often threads read another node's memory, bound and not.
Those were counted in an [emulated machine][counts] of two nodes, where counts mean something and
times do not.

[counts]: ../benchmarks/figures.md#misses-into-another-nodes-memory-counted-in-an-emulated-machine

In the studies, several numbers stand for several workloads or places, which are told apart where
we can. This page is made from the presets.
"""
_TITLES = {
    "Baig 2018": "Baig 2018: workers, binding, pairs on a POWER8",
    "Lu 2017": "Lu 2017: communication threads on POWER8",
    "Chiba 2015": "Chiba 2015: executors bound to nodes",
    "Awan 2016": "Awan 2016: architecture and in-memory analytics",
    "Container partitions": "Docker Container-based Scalable Partitioning for Apache Spark "
    "Scale-Up Server Scalability",
}


def presets() -> list[Preset]:
    """Return all, those of one study together, in the order of the titles."""
    order = list(_TITLES)
    return sorted((preset(name) for name in names()), key=lambda one: order.index(one.study))


def numbers(study: Preset) -> list[Value]:
    """Return the values that the study published as numbers."""
    return [value for value in study.values if re.search(r"\d", value.published)]


def command(study: Preset) -> str:
    """Return the command that measures an experiment, or says how to."""
    return f"hearth lab study {'run' if study.steps else 'show'} {study.name}"


def page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for study, group in groupby(presets(), key=lambda one: one.study):
        parts.append(f"\n## {_TITLES[study]}\n")
        pairs = ((one, value) for one in group for value in numbers(one))
        for said, answered in groupby(pairs, key=lambda pair: _answer(pair[0].answer_of(pair[1]))):
            parts += ["\n", filled(said), "\n\n", *_items(answered)]
    return "".join(parts)


def _items(pairs: Iterable[tuple[Preset, Value]]) -> Iterator[str]:
    """Yield an item for each command and place, with the numbers that it measures."""
    for (line, place), of in groupby(pairs, key=lambda pair: (command(pair[0]), pair[1].place)):
        shown = "; ".join(_number(value) for _, value in of)
        yield filled(f"- {place}: {shown}: `{line}`", "  ") + "\n"


def _number(value: Value) -> str:
    return f"*{value.what}* {value.published}{_predicted(value)}"


def _predicted(value: Value) -> str:
    """Return what a model says, and its error as a ratio of times."""
    if value.predicted is None or value.value is None:
        return ""
    one = 0 if value.unit == "times" else 100
    error = (one + value.predicted) / (one + value.value) - 1
    return f", predicted {value.predicted:g} ({100 * error:+.2g} %)"


def _answer(answer: Answer) -> str:
    place = f" ([figures](../{answer.page}))" if answer.page else ""
    before = {"open": "; needs ", "measured": "; on "}.get(answer.kind, "; ")
    machine = "" if answer.machine == "any" else before + answer.machine
    return f"**{answer.kind}**: {answer.text}{machine}{place}."
