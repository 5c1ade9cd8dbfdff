"""The document of a series: its cases, and for each job a comparison of its masters."""

from dataclasses import dataclass
from typing import Literal

from hearth.studies.bench.study import Results, SeriesHead
from hearth.studies.compare.result import Compared, ComparisonHead, ComparisonSettings, ListedArm
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.trial import Trial


@dataclass(frozen=True)
class BenchResult:
    """The document that `hearth lab bench --json` prints."""

    schema: Literal["hearth/bench-result/3"]
    series: SeriesHead
    cases: list[Trial]  #: of a case that was tried again, the last
    #: of each job its masters, the first as the baseline; the times are those of the job's phases
    jobs: list[Compared]

    def cases_of(self, job: str, master: str) -> list[Trial]:
        """Return the cases of a job under a master."""
        return [one for one in self.cases if (one.turn.subject, one.arm) == (job, master)]


def bench_result(results: Results) -> BenchResult:
    """Return the result of a series so far."""
    head, cases = results.head, results.last
    jobs = [
        compared(_comparison(head, one.label), [c for c in cases if c.turn.subject == one.label])
        for one in head.entries
    ]
    return BenchResult("hearth/bench-result/3", head, cases, jobs)


def _comparison(head: SeriesHead, job: str) -> ComparisonHead:
    often = head.settings
    settings = ComparisonSettings(often.warmup, often.seed, command=[job], repeat=often.repeat)
    arms = [ListedArm(master) for master in head.masters]
    return ComparisonHead(head.id, job, head.started, head.masters[0], arms, settings)


def is_good(results: Results) -> bool:
    """Return whether every run ended and no answer is wrong."""
    return not any(
        trial.result is None or trial.result["verdict"]["status"] == "wrong"
        for trial in results.last
    )
