"""Runs a well-known workload: makes its data once, runs it, checks its answer.

The data is seeded, made on the first run and reused; it is kept in HEARTH_DATA, else in hearth's
cache. The answer is compared with another implementation's: checked, wrong, or unchecked with the
reason. Exits with 1 if the answer is wrong or the job fails.

'hearth run --list' shows all jobs; 'hearth run NAME --help' shows one job's parameters, what it
stresses, and the sizes of the published runs. Parameters are given as options: --partitions 48.

examples:
  hearth run --list
  hearth run word-count --size 2g
  hearth run word-count --help
  hearth run word-count --master 'local[*]' --partitions 48
  hearth run word-count --tuned
  hearth run word-count --master 'local-numa[2x4]' --conf spark.executor.memory=8g --json
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from hearth.workloads.parameters import pairs

if TYPE_CHECKING:
    from hearth.workloads import catalogue


def add_arguments(parser: ArgumentParser) -> None:
    """The command's own options; a job's parameters are separated in `parse`."""
    parser.usage = "hearth run NAME [options] [--PARAMETER VALUE]..."
    parser.add_argument("job", nargs="?", metavar="NAME", help="the job (default: list all)")
    parser.add_argument("--list", action="store_true", help="list the jobs by family")
    parser.add_argument("--size", metavar="SIZE", help="size of the data, such as 2g")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--master", default="local-numa", metavar="M", help="default: local-numa, as planned"
    )
    how.add_argument(
        "--tuned", action="store_true", help="as the last hearth tune of it found best"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of the data and of the job's random choices (default: 1)",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="directory of the data: used if present, else made there"
    )
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", action="append", default=[], help="a Spark setting"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="port of a stream's source (default: any free port)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--keep", action="store_true", help="keep the answer files and the log")
    parser.add_argument(
        "--markdown", action="store_true", help="with --list: print docs/workloads.md"
    )


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """The options; the rest are parameters of the job, which comes first."""
    named = bool(words) and not words[0].startswith("-")
    wants_help = named and any(word in ("-h", "--help") for word in words[1:])
    if wants_help:
        words = [words[0]]
    options, rest = parser.parse_known_args(words)
    if rest and not named:
        parser.error(f"'{rest[0]}' is not an option of hearth run: give the job's name first")
    options.parameters = pairs(rest)
    options.job_help = wants_help
    return options


def run(options: Namespace) -> int:
    """Lists, explains, or runs; 0 unless the answer is wrong."""
    from hearth.report.terminal import workloads
    from hearth.report.terminal.screen import Screen
    from hearth.workloads import catalogue

    offer = catalogue.load()
    if options.list or options.job is None:
        if options.markdown:
            lines = workloads.markdown(offer.jobs, offer.generators)
        else:
            lines = workloads.listed(offer.jobs, Screen.of())
        print("\n".join(lines))
        return 0
    job = offer.job(options.job)
    if options.job_help:
        print("\n".join(workloads.explained(job, Screen.of())))
        return 0
    return _run(options, offer, job)


def _use_tuned(options: Namespace) -> None:
    """Applies what `hearth tune` found; a setting of --conf wins."""
    from hearth.base.errors import UserError
    from hearth.machine import paths
    from hearth.spark.saved_configs import tuned_choice, workload_named

    found = tuned_choice(paths.state_home(), workload_named(options.job))
    if found is None:
        raise UserError(
            f"--tuned: nothing is kept for '{options.job}' on this machine: run "
            f"'hearth tune {options.job}' first"
        )
    size = f"[{found['executors']}x{found['cores']}]" if found["executors"] else ""
    options.master = found["master"] or f"local-numa{size}"
    unbound = {"spark.hearth.binding": "off"} if found["unbound"] else {}
    tuned = {**found["conf"], **found["java"], **unbound}
    options.conf = [*(f"{key}={value}" for key, value in tuned.items()), *options.conf]
    print(
        f"hearth: tuned on {found['date'][:10]} ({found['tune']}): {found['sentence']}",
        file=sys.stderr,
    )


def _run(options: Namespace, offer: "catalogue.Catalogue", job: "catalogue.Job") -> int:
    from hearth.base.sizes import parse_bytes
    from hearth.machine.plan_request import parse_conf
    from hearth.report.terminal import workloads
    from hearth.workloads import cases, runner

    if options.tuned:
        _use_tuned(options)
    case = cases.Case(
        job=job,
        parameters=options.parameters,
        size_bytes=None if options.size is None else parse_bytes(options.size, "--size"),
        seed=options.seed,
        conf=parse_conf(options.conf),
        data=None if options.data is None else Path(options.data).absolute(),
        port=options.port,
    )
    cases.check(case, options.master)
    try:
        outcome = cases.run(offer, case, options.master, keep=options.keep)
    except runner.RunError as failure:
        for line in failure.tail:
            print(f"    {line}", file=sys.stderr)
        print(f"hearth: {job.name} on {options.master} {failure}", file=sys.stderr)
        return 1
    document = outcome.document
    print(json.dumps(document, indent=2) if options.json else workloads.line(document))
    if outcome.kept is not None:
        print(f"kept in {outcome.kept}", file=sys.stderr)
    return 1 if document["verdict"]["status"] == "wrong" else 0
