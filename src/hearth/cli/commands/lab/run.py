"""Run a benchmark workload: generate its data once, run it, check its answer.

The data is generated from a seed on the first run and then reused; it is kept in HEARTH_DATA, else
in hearth's cache. The answer is compared with that of another implementation: checked, wrong, or
unchecked with the reason. Exits with 1 if the job fails or its answer is wrong.

'hearth lab run --list' lists all workloads; 'hearth lab run NAME --help' shows what one stresses,
its parameters, and the sizes of the published runs. Give parameters as options: --partitions 48.

examples:
  hearth lab run --list
  hearth lab run word-count --size 2g
  hearth lab run word-count --help
  hearth lab run word-count --master 'local[*]' --partitions 48
  hearth lab run word-count --tuned
  hearth lab run word-count --master 'local-numa[2x4]' --conf spark.executor.memory=8g --json
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.errors import UserError, nearest
from hearth.base.sizes import parse_bytes
from hearth.cli.answer import print_document, tell
from hearth.cli.hints import commands_with, elsewhere
from hearth.cli.options import from_namespace
from hearth.machine import paths
from hearth.machine.plan import parse_conf
from hearth.report.terminal import workloads
from hearth.report.terminal.screen import Screen
from hearth.spark.saved_configs import kept_tuned, workload_named
from hearth.workloads import cases, catalogue, runner
from hearth.workloads.parameters import pairs


@dataclass(frozen=True)
class RunCommand:
    """The user's options; each field is the option of that name.

    parameters: of the job, as typed. explained: whether to show the job's own help.
    """

    job: str | None
    list: bool
    explained: bool
    parameters: Sequence[str]
    size: str | None
    master: str
    tuned: bool
    seed: int
    data: str | None
    conf: Sequence[str]
    port: int
    json: bool
    keep: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's own options; a job's parameters are separated in `parse`."""
    parser.usage = "hearth lab run NAME [options] [--PARAMETER VALUE]..."
    parser.add_argument("job", nargs="?", metavar="NAME", help="a workload (default: list all)")
    parser.add_argument("--list", action="store_true", help="list the workloads by family")
    parser.add_argument("--size", metavar="SIZE", help="size of the data, e.g. 2g")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--master",
        default="local-numa",
        metavar="M",
        help="Spark master (default: local-numa, planned)",
    )
    how.add_argument(
        "--tuned", action="store_true", help="use the best configuration that hearth tune found"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed for the data and the workload's random choices (default: 1)",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="directory of the data, which is generated if missing",
    )
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[], help="a Spark setting"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port for the source of a streaming workload (default: any free port)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--keep", action="store_true", help="keep the answer files and the log")


def parse(parser: ArgumentParser, words: list[str]) -> RunCommand:
    """Return the options; the rest are parameters of the job, which comes first."""
    named = bool(words) and not words[0].startswith("-")
    explained = named and any(word in ("-h", "--help") for word in words[1:])
    given, rest = parser.parse_known_args([words[0]] if explained else words)
    if rest and not named:
        parser.error(f"'{rest[0]}' is not an option of hearth lab run: give the job's name first")
    return from_namespace(RunCommand, given, parameters=rest, explained=explained)


def run(options: RunCommand) -> int:
    """List, explain, or run; return 0 unless the answer is wrong."""
    offer = catalogue.load()
    if options.list or options.job is None:
        print("\n".join(workloads.listed(offer.jobs, Screen.of())))
        return 0
    job = offer.job(options.job)
    if options.explained:
        print("\n".join(workloads.explained(job, offer.generators, Screen.of())))
        return 0
    return _run(options, offer, job)


def _tuned(options: RunCommand, job: str) -> RunCommand:
    """Return the options with what `hearth tune` found; a setting of --conf wins."""
    config = kept_tuned(paths.state_home(), workload_named(job))
    if config is None:
        raise UserError(
            f"--tuned: no tuning result for '{job}' on this machine: run 'hearth tune {job}' first"
        )
    size = f"[{config['executors']}x{config['cores']}]" if config["executors"] else ""
    unbound = {"spark.hearth.binding": "off"} if config["unbound"] else {}
    tuned = {**config["conf"], **config["java"], **unbound}
    print(
        f"hearth: tuned on {config['date'][:10]} ({config['tune']}): {config['sentence']}",
        file=sys.stderr,
    )
    conf = [*(f"{key}={value}" for key, value in tuned.items()), *options.conf]
    return replace(options, master=config["master"] or f"local-numa{size}", conf=conf)


def _check_names(job: catalogue.Job, words: Sequence[str]) -> None:
    """Refuse, with what may be meant, a name that the job has no parameter of."""
    known = [f"--{parameter.name}" for parameter in job.parameters]
    left = iter(words)
    for word in left:
        name, equals, _ = word.partition("=")
        if name.startswith("--") and name not in known:
            run_options = [
                option for option, having in commands_with().items() if "lab run" in having
            ]
            hint = elsewhere(name, nearest(name, [*known, *run_options]))
            those = f"it has {', '.join(known) or 'none'}"
            raise UserError(f"{name}: {job.name} has no such parameter: {hint or those}")
        if not equals:
            next(left, None)


def _run(options: RunCommand, offer: catalogue.Catalogue, job: catalogue.Job) -> int:
    if options.tuned:
        options = _tuned(options, job.name)
    _check_names(job, options.parameters)
    case = cases.Case(
        job=job,
        parameters=pairs(options.parameters),
        size_bytes=None if options.size is None else parse_bytes(options.size, "--size"),
        seed=options.seed,
        conf=parse_conf(list(options.conf)),
        data=None if options.data is None else Path(options.data).absolute(),
        port=options.port,
    )
    cases.check(case, options.master)
    try:
        outcome = cases.run(offer, case, options.master, keep=options.keep)
    except runner.RunError as failure:
        for line in failure.tail:
            print(f"    {line}", file=sys.stderr)
        tell(f"{job.name} on {options.master} {failure}")
        return 1
    document = outcome.document
    if options.json:
        print_document(document)
    else:
        print(workloads.line(document))
    if outcome.kept is not None:
        print(f"kept in {outcome.kept}", file=sys.stderr)
    return 1 if document["verdict"]["status"] == "wrong" else 0
