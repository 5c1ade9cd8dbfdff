"""A case: a job with its settings, run once under a master from its data to its verdict."""

import difflib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.base.errors import UserError
from hearth.base.private_files import private_directory, write_private
from hearth.base.temporary import working_directory
from hearth.machine import paths
from hearth.workloads import catalogue, datasets, runner
from hearth.workloads.masters import check_master

_LAST_PORT = 65535


@dataclass(frozen=True)
class Case:
    """A user's request.

    parameters: of the job, those that the user chose. size_bytes: of the data; None for the
    default. data: the user's own directory of data. port: of a streaming job's source; 0: any.
    """

    job: catalogue.Job
    parameters: dict[str, str] = field(default_factory=dict)
    size_bytes: int | None = None
    seed: int = 1
    conf: dict[str, str] = field(default_factory=dict)
    data: Path | None = None
    port: int = 0


@dataclass(frozen=True)
class Finished:
    """The document (contract/examples/workload-result.json), and where it was kept."""

    document: dict[str, Any]
    kept: Path | None


def check(case: Case, master: str) -> None:
    """Raise UserError for what cannot run, before any data is made for it."""
    check_master(master)
    if case.seed < 0:
        raise UserError(f"--seed: {case.seed} is below 0: give a whole number from 0")
    if not 0 <= case.port <= _LAST_PORT:
        raise UserError(f"--port: {case.port} is not a port: give 1 to {_LAST_PORT}")
    known = [parameter.name for parameter in case.job.parameters]
    for name in case.parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            those = ", ".join(f"--{parameter}" for parameter in known) or "none"
            hint = f"did you mean --{near[0]}?" if near else f"it has {those}"
            raise UserError(f"--{name}: {case.job.name} has no such parameter: {hint}")
    if case.parameters:  # the limits of their values are known to the jar alone
        words = [word for key, value in case.parameters.items() for word in (f"--{key}", value)]
        catalogue.ask("check", case.job.name, *words)


def run(
    offer: catalogue.Catalogue,
    case: Case,
    master: str,
    *,
    keep: bool = False,
    program: tuple[str, ...] = (),
    hinted: bool = True,
) -> Finished:
    """Make missing data, run the job, check its answer.

    program: what runs it in place of spark-submit or `hearth submit`. hinted: whether the latter
    gets the kind of work and the size of its input.
    Raises UserError if the user can correct it, runner.RunError if the job fails.
    """
    data = data_of(offer, case)
    # A job that draws numbers of its own draws from the same seed.
    draws = any(parameter.name == "seed" for parameter in case.job.parameters)
    parameters = {"seed": str(case.seed), **case.parameters} if draws else case.parameters
    manifests = {name: datasets.manifest(directory) for name, directory in data.items()}
    size = sum(int(manifest["bytes"]) for manifest in manifests.values())
    request = runner.JobRequest(
        case.job, master, parameters, data, size, case.conf, case.seed, case.port, program, hinted
    )
    # Next to the data: an answer may be as large, and /tmp is often small.
    parent = datasets.data_home() / "runs"
    parent.mkdir(parents=True, exist_ok=True)
    with working_directory(keep, f"{case.job.name}-", parent) as folder:
        try:
            outcome = runner.run(request, folder)
        except runner.RunError as failure:
            raise failure.with_log(_keep_log(case.job.name, folder / "log")) from None
        document = {
            **outcome.result,
            "asked_master": master,
            "wall_s": round(outcome.wall_s, 3),
            "data": {name: _facts(manifest) for name, manifest in manifests.items()},
            "verdict": {"status": outcome.verdict.status, "detail": outcome.verdict.detail},
        }
        return Finished(document, folder if keep else None)


def measured(
    offer: catalogue.Catalogue, case: Case, master: str, *, hinted: bool = True
) -> dict[str, Any]:
    """Return a run's `seconds`, `wall_s` and `answer`, or its `failure`, which a wrong answer is
    too.

    The failure names no log and no home: results are published, and a path may name a user.
    """
    try:
        result = run(offer, case, master, hinted=hinted).document
    except runner.RunError as failure:
        return {"failure": failure.reason.replace(str(Path.home()), "~")}
    verdict = result["verdict"]
    if verdict["status"] == "wrong":
        return {"failure": f"wrong answer: {verdict['detail']}"}
    seconds = {"seconds": result["seconds"], "wall_s": result["wall_s"]}
    return {**seconds, "answer": verdict["status"]}


def data_of(offer: catalogue.Catalogue, case: Case) -> dict[str, Path]:
    """Return the directory of each input; make what is missing."""
    wanted = datasets.wanted_by(offer, case.job, case.parameters, case.size_bytes, case.seed)
    return datasets.ensure_all(wanted, case.data)


def _facts(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: manifest[key] for key in ("generator", "version", "seed", "size_bytes", "bytes")}


def _keep_log(job: str, log: Path) -> Path:
    """Copy the log of a failed run in place of that of the job's last one; return the copy."""
    copy = paths.state_home() / "logs" / f"{job}.log"
    try:
        private_directory(copy.parent)
        write_private(copy, log.read_bytes())
    except OSError as error:
        print(f"hearth: the log could not be kept: {error}", file=sys.stderr)
    return copy
