"""One of hearth's workloads, run in several ways and on record, its answer checked at each run."""

from dataclasses import dataclass, replace
from pathlib import Path

from hearth.experiments.arms import Arm
from hearth.experiments.subjects import PROFILE, Ended
from hearth.workloads import cases, runner
from hearth.workloads.catalogue import Catalogue


@dataclass(frozen=True)
class Workload:
    """A job with its parameters and data; a subject, see hearth.experiments.subjects."""

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

    def run(self, arm: Arm, log: Path) -> Ended:
        job = self.offer.job(arm.job) if arm.job else self.case.job
        parameters = {**({} if arm.job else self.case.parameters), **dict(arm.parameters)}
        case = replace(self.case, job=job, parameters=parameters)
        program = (*arm.prefix, *PROFILE, arm.name, *arm.words)
        try:
            done = cases.run(self.offer, case, arm.master or self.master, program=program)
        except runner.RunError as failure:
            return Ended(failure.record, failure=str(failure))
        verdict = done.document["verdict"]
        if verdict["status"] == "wrong":
            return Ended(done.record, failure=f"its answer is wrong: {verdict['detail']}")
        return _finished(done)


def _finished(done: cases.Finished) -> Ended:
    stream = done.document.get("streaming")
    told = {"answer": done.document["verdict"]["status"]}
    if stream is None:
        return Ended(done.record, seconds=done.document["seconds"], told=told)
    median = stream["processing_ms"].get("median")
    if median is None:
        return Ended(done.record, failure="no batch was measured: give a longer --duration-s")
    return Ended(done.record, seconds=median / 1000, told={**told, "streaming": stream})
