"""What a command line names: a workload of hearth's, a suite of them, or an application."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hearth.base.errors import UserError
from hearth.base.sizes import parse_bytes
from hearth.spark.saved_configs import application, workload_named
from hearth.spark.submission import check_application
from hearth.spark.submit_args import SubmitLine, is_application
from hearth.studies.engine.target import ApplicationTarget, Target
from hearth.studies.engine.workload_target import WorkloadTarget
from hearth.workloads import cases, catalogue, suites
from hearth.workloads.parameters import pairs

if TYPE_CHECKING:
    from hearth.workloads.catalogue import Catalogue, Job


def tuned_as(line: SubmitLine) -> str:
    """What `hearth tune` keeps its result as, for an application or a workload."""
    name = line.application[0]
    return application(line) if is_application(name) else workload_named(name)


def subject_of(line: SubmitLine, verb: str) -> tuple[Target, "Job | None"]:
    """What the line names, where that is one; verb: what is done with it, for people.

    Raises UserError for a suite, and for an application whose file is not there.
    """
    name = line.application[0]
    if is_application(name):
        check_application(name)
    found = subjects(line)
    if len(found) != 1:
        names = ", ".join(subject.name for subject, _ in found[:3])
        raise UserError(f"'{name}' is {len(found)} workloads: {verb} one of them, such as {names}")
    return found[0]


def subjects(line: SubmitLine) -> list[tuple[Target, "Job | None"]]:
    """The application, or the workloads of a suite, or the named workload."""
    name, rest = line.application[0], line.application[1:]
    if is_application(name):
        return [(ApplicationTarget(line), None)]
    offer = catalogue.load()
    if name in suites.NAMES:
        entries = suites.suite(name, offer)
    else:
        entries = [suites.SuiteEntry(offer.job(name))]
    return [_workload(line, offer, entry.job, entry.parameters, rest) for entry in entries]


def _workload(
    line: SubmitLine, offer: "Catalogue", job: "Job", fixed: dict[str, str], rest: Sequence[str]
) -> tuple[Target, "Job"]:
    if line.options and any(o.name != "--conf" for o in line.options):
        names = ", ".join(o.name for o in line.options if o.name != "--conf")
        raise UserError(f"{names}: of spark-submit's options a workload takes only --conf")
    parameters = {**fixed, **pairs(rest)}
    size = parameters.pop("size", None)
    conf = dict((o.value or "").partition("=")[::2] for o in line.options)
    case = cases.Case(
        job, parameters, None if size is None else parse_bytes(size, "--size"), conf=conf
    )
    cases.check(case, "local-numa")
    return WorkloadTarget(offer, case), job
