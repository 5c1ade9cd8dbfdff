"""The options that all experiments share: how often each way is run, and for how long in all."""

from argparse import ArgumentParser, Namespace, _MutuallyExclusiveGroup
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hearth.base.durations import parse_seconds
from hearth.base.errors import UserError

if TYPE_CHECKING:
    from hearth.studies.engine.idle_wait import Quiet

_MOST_RUNS = 1000


@dataclass(frozen=True)
class RunOptions:
    """repeat: runs of each way that count. warmup: those before. budget_s: None for no limit."""

    repeat: int
    warmup: int
    seed: int
    budget_s: float | None


def add_run_options(parser: ArgumentParser, *, repeat: int, warmup: int) -> _MutuallyExclusiveGroup:
    """Adds them with these defaults; the group of `--repeat`, for options that exclude it."""
    parser.set_defaults(usual_repeat=repeat)
    how_often = parser.add_mutually_exclusive_group()
    how_often.add_argument(
        "--repeat", type=int, metavar="N", help=f"counted runs of each way (default: {repeat})"
    )
    warm_ups = f"warm-up runs of each way, not counted (default: {warmup})"
    parser.add_argument("--warmup", type=int, default=warmup, metavar="N", help=warm_ups)
    seed = "seed of the order of runs and of generated data (default: 1)"
    parser.add_argument("--seed", type=int, default=1, metavar="N", help=seed)
    budget = "start no repetition that would end after this time, such as 30m"
    parser.add_argument("--budget", metavar="TIME", help=budget)
    add_quiet_option(parser)
    return how_often


def add_quiet_option(parser: ArgumentParser) -> None:
    """Adds what is done about other programs."""
    words = "before each run, wait until other programs leave the CPUs alone, at most so long"
    parser.add_argument("--wait-quiet", metavar="TIME", help=words)


def quiet_option(options: Namespace) -> "Quiet":
    """What was given; raises UserError for what is not a time."""
    from hearth.studies.engine.idle_wait import Quiet

    wait = options.wait_quiet
    return Quiet(None if wait is None else parse_seconds(wait, "--wait-quiet"))


def run_options(options: Namespace) -> RunOptions:
    """What was given, else the defaults; raises UserError for what is out of range."""
    repeat = options.usual_repeat if options.repeat is None else options.repeat
    limits = (("repeat", repeat, 1), ("warmup", options.warmup, 0))
    for name, value, least in limits:
        if not least <= value <= _MOST_RUNS:
            raise UserError(f"--{name}: {value} is out of range: give {least} to {_MOST_RUNS}")
    if options.seed < 0:
        raise UserError(f"--seed: {options.seed} is below 0: give a whole number from 0")
    budget = options.budget
    budget_s = None if budget is None else parse_seconds(budget, "--budget")
    return RunOptions(repeat, options.warmup, options.seed, budget_s)
