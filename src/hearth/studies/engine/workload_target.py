"""One of hearth's workloads, run and recorded in several ways, its answer checked in each run."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hearth.studies.engine.arms import Arm, properties_words
from hearth.studies.engine.target import kept_id, on_record
from hearth.studies.engine.trial import Outcome, Turn
from hearth.workloads import cases, datasets, runner
from hearth.workloads.catalogue import Catalogue


@dataclass(frozen=True)
class WorkloadTarget:
    """A job with its parameters and data; a subject, see hearth.studies.engine.target."""

    offer: Catalogue
    case: cases.Case
    master: str = "local-numa"

    @property
    def name(self) -> str:
        return self.case.job.name

    @property
    def timed(self) -> str:
        if self.case.job.stream is not None:
            return "median processing time of a batch"
        return "the job's own phases, without the start of Spark"

    @property
    def input_bytes(self) -> int:
        """About the size of the data that it reads; it need not have been made."""
        case = self.case
        wanted = datasets.wanted_by(
            self.offer, case.job, case.parameters, case.size_bytes, case.seed
        )
        return sum(one.size_bytes for one in wanted.values())

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Outcome:
        job = self.offer.job(arm.job) if arm.job else self.case.job
        parameters = {**({} if arm.job else self.case.parameters), **dict(arm.parameters)}
        conf = {**self.case.conf, **dict(arm.conf)}
        case = replace(self.case, job=job, parameters=parameters, conf=conf)
        program = (*on_record(arm, record), *arm.words, *properties_words(arm))
        try:
            done = cases.run(self.offer, case, arm.master or self.master, program=program)
        except runner.RunError as failure:
            return Outcome(turn, failure=str(failure), record=kept_id(record))
        found = _outcome(turn, done.document)
        return replace(found, record=kept_id(record))


def _outcome(turn: Turn, document: dict[str, Any]) -> Outcome:
    verdict, stream = document["verdict"], document.get("streaming")
    if verdict["status"] == "wrong":
        return Outcome(turn, failure=f"its answer is wrong: {verdict['detail']}")
    if stream is None:
        return Outcome(turn, seconds=document["seconds"], answer=verdict["status"])
    median = stream["processing_ms"].get("median")
    if median is None:
        return Outcome(turn, failure="no batch was measured: give a longer --duration-s")
    return Outcome(turn, seconds=median / 1000, answer=verdict["status"], streaming=stream)
