"""The suites of `hearth lab bench`: which jobs, with which settings."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from hearth.base.errors import UserError
from hearth.workloads.catalogue import Catalogue, Job
from hearth.workloads.parameters import pairs


@dataclass(frozen=True)
class SuiteEntry:
    """A job of a suite, with what the suite sets. conf: Spark's settings for its runs alone."""

    job: Job
    parameters: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """`sort-by`, or with settings `tpch --queries 5`: names a row of the table."""
        settings = [f"--{key} {value}" for key, value in sorted(self.parameters.items())]
        settings += [f"--conf {key}={value}" for key, value in sorted(self.conf.items())]
        return " ".join([self.job.name, *settings])


#: Of a list of jobs; a comma within quotation marks is part of it.
_PART = re.compile(r"""(?:[^,"']|"[^"]*"|'[^']*'|["'])+""")
#: Suites by family of job: all that the jar has of them.
_FAMILIES = {"batch": ("core", "ml", "graph", "sql"), "streaming": ("streaming",), "sql": ("sql",)}
#: Suites of published studies, by name and settings.
_STUDIES: dict[str, list[tuple[str, dict[str, str]]]] = {
    # Lu 2017: SortBy and GroupBy of the OSU benchmarks.
    "osu": [("group-by", {}), ("sort-by", {})],
    # Baig 2018: SVM, SQL RDDRelation, PageRank.
    # Chiba 2015: K-Means, and TPC-H Q1 (little shuffle), Q5, Q9 (much).
    "paper-numa": [
        ("linear-svm", {}),
        ("rdd-relation", {}),
        ("page-rank", {}),
        ("k-means", {}),
        ("tpch", {"queries": "1"}),
        ("tpch", {"queries": "5"}),
        ("tpch", {"queries": "9"}),
    ],
}
NAMES = (*_FAMILIES, *_STUDIES)


def suite(name: str, offer: Catalogue) -> list[SuiteEntry]:
    """Return the jobs of a suite; raise UserError where the jar lacks one of them."""
    if name in _STUDIES:
        return [SuiteEntry(offer.job(job), settings) for job, settings in _STUDIES[name]]
    jobs = [job for job in offer.jobs if job.family in _FAMILIES[name]]
    entries = [entry for job in jobs for entry in (SuiteEntry(job), *_other_apis(job))]
    if not entries:
        raise UserError(f"--suite: this jar has no job of the suite {name}: run 'make setup'")
    return entries


def _other_apis(job: Job) -> list[SuiteEntry]:
    """Return the same streaming job by those of Spark's interfaces that are not its default."""
    streams = job.parameters if job.stream is not None else ()
    offered = [parameter for parameter in streams if parameter.name == "api"]
    return [
        SuiteEntry(job, {"api": choice})
        for parameter in offered
        for choice in parameter.choices
        if choice != parameter.default
    ]


def named(text: str, offer: Catalogue) -> list[SuiteEntry]:
    """Return the jobs of `A,B --PARAMETER VALUE --conf KEY=VALUE`.

    A comma within quotation marks separates nothing. Raises UserError for a job that is unknown or
    given twice.
    """
    entries = []
    for part in _PART.findall(text) or [""]:
        try:
            name, *rest = shlex.split(part) or [""]
        except ValueError:
            raise UserError(f"--jobs: a quotation mark in '{part}' has no other") from None
        conf, rest = _settings(rest)
        entries.append(SuiteEntry(offer.job(name), pairs(rest), conf))
    labels = [entry.label for entry in entries]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise UserError(f"--jobs: {', '.join(sorted(twice))} is given twice: give each once")
    return entries


def _settings(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings of `--conf KEY=VALUE` among the words of a job, and the other words."""
    conf, rest = {}, []
    left = iter(words)
    for word in left:
        if word != "--conf":
            rest.append(word)
            continue
        key, equals, value = next(left, "").partition("=")
        if not key or not equals:
            raise UserError("--jobs: --conf: write KEY=VALUE behind it")
        conf[key] = value
    return conf, rest
