"""What fixing a finding of the doctor's was worth on this machine, as comparisons measured it."""

from collections.abc import Iterator
from pathlib import Path

from hearth.base.codec import read_typed
from hearth.base.errors import UserError
from hearth.doctor.rule import Worth
from hearth.spark.saved_configs import machine_key
from hearth.studies.compare.result import Compared, ComparedArm, ComparisonHead, PairedRatio
from hearth.studies.compare.study import Comparison
from hearth.studies.compare.verdict import compared
from hearth.studies.engine.arms import FIXED
from hearth.studies.engine.store import COMPARE, REMEDY

_WORDS = {"faster": "faster", "slower": "slower", "equal": "no difference"}


def measured_fixes(
    state_home: Path, application: str | None = None, root: Path = Path("/")
) -> tuple[dict[str, Worth], list[str]]:
    """Return what each fix was worth, by the name of its rule, and a line for each that is broken.

    Of several comparisons the newest of this application counts, else the newest.
    """
    newest: dict[str, tuple[bool, Worth]] = {}
    problems: list[str] = []
    for result in _results(state_home, root, problems):
        same_application = application is not None and Path(result.application).stem == application
        for arm in result.arms:
            if arm.name.startswith(FIXED) and arm.ratio is not None and arm.ratio.interval:
                name = arm.name.removeprefix(FIXED)
                if same_application or not newest.get(name, (False,))[0]:
                    newest[name] = (same_application, _worth(result, arm, arm.ratio))
    return {name: worth for name, (_, worth) in newest.items()}, problems


def _results(state_home: Path, root: Path, problems: list[str]) -> Iterator[Compared]:
    """Yield those of this machine that fix something, the oldest first."""
    for directory in COMPARE.directories(state_home):
        try:
            head = read_typed(directory / COMPARE.head, ComparisonHead, REMEDY)
            if head.machine is not None and head.machine == machine_key(root):
                yield _result(directory)
        except (UserError, OSError, ValueError) as problem:
            problems.append(str(problem))


def _result(directory: Path) -> Compared:
    comparison = Comparison.read(directory)
    return compared(comparison.head, comparison.trials)


def _worth(result: Compared, arm: ComparedArm, ratio: PairedRatio) -> Worth:
    low, high = ratio.interval or (ratio.value, ratio.value)
    interval = f"{result.confidence:.0%} interval {low:.2f} to {high:.2f}, {ratio.pairs} pairs"
    what = f"{result.application} on {result.started[:10]}, {result.id}"
    kinds = ", ".join(warning.kind for warning in result.warnings)
    figure = f"{ratio.value:.2f} of the time with it ({interval}; {what})"
    figure += f", in doubt: {kinds}" if kinds else ""
    if arm.against not in _WORDS:
        return Worth("undecided", f"measured here, undecided: {figure}")
    gain = 100 * (1 - ratio.value)
    percent = gain if arm.against == "faster" else min(gain, 0.0)
    return Worth("measured", f"measured here, {_WORDS[arm.against]}: {figure}", percent)
