"""Join this machine to a standalone Spark cluster: one bound Worker per executor of the plan.

The master must be running already. Executors inherit the CPUs and the memory policy of the Worker
that starts them. A Worker that dies is restarted on the same CPUs. 'stop' lets executors hand over
their blocks first (decommissioning), if their application allows it.

examples:
  hearth workers start spark://big1:7077
  hearth workers start spark://big1:7077 --executors 4 --cores 12 --memory 24g
  hearth workers start spark://big1:7077 --foreground
  hearth workers status
  hearth workers restart
  hearth workers stop --drain 5m
"""

import sys
from argparse import ArgumentParser, Namespace

from hearth.base.durations import parse_seconds
from hearth.cli.answer import print_document
from hearth.cli.options import add_plan_options, from_namespace
from hearth.machine.plan import PlanRequest, parse_conf
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.workers import show_settings, show_workers, workers_document
from hearth.spark import workers

_NAME_HELP = "name or master of the workers (default: those that run, if one set does)"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    actions = parser.add_subparsers(
        dest="action", metavar="start|status|stop|restart", required=True
    )
    starting = actions.add_parser("start", help="start the workers and join them to a master")
    starting.add_argument("master", metavar="MASTER", help="the master's URL, spark://HOST:PORT")
    add_plan_options(starting)
    starting.add_argument(
        "--occupied", metavar="CPUS", help="CPUs that no worker may use, e.g. 0-3,8"
    )
    starting.set_defaults(machine=None, python=False)
    starting.add_argument("--name", help="name of these workers (default: made of the master's)")
    starting.add_argument("--host", help="this machine's name, as other machines know it")
    starting.add_argument(
        "--wait",
        default="60s",
        metavar="TIME",
        help="how long to wait for all to register (default: 60s)",
    )
    starting.add_argument(
        "--foreground", action="store_true", help="stay in the foreground, for a service manager"
    )
    status = actions.add_parser("status", help="show the workers, and where the kernel runs them")
    status.add_argument("--json", action="store_true", help="print JSON")
    stopping = actions.add_parser("stop", help="stop the workers")
    again = actions.add_parser("restart", help="restart the workers, one after the other")
    for action in (stopping, again):
        action.add_argument("name", nargs="?", metavar="NAME", help=_NAME_HELP)
        action.add_argument(
            "--drain",
            default="60s",
            metavar="TIME",
            help="how long executors may take to hand over their blocks (default: 60s)",
        )


def run(options: Namespace) -> int:
    """Run the chosen action."""
    if options.action == "status":
        _status(options.json)
    elif options.action == "stop":
        _stop(options.name, options.drain)
    elif options.action == "restart":
        _restart(options.name, options.drain)
    else:
        master = workers.check_master(options.master)
        plan = from_namespace(PlanRequest, options, conf=parse_conf(options.conf), bandwidth=None)
        name = workers.check_name(options.name or workers.default_name(master))
        limit_s = parse_seconds(options.wait, "--wait")
        host = ["--host", options.host] if options.host else []
        request = workers.request(name, master, plan, [*host, "--webui-port", "0"])
        _start(request, limit_s, options.foreground)
    return 0


def _start(request: workers.WorkersRequest, limit_s: float, foreground: bool) -> None:
    note = workers.shuffle_service_note(request)
    if foreground:
        if note:
            print(f"hearth: {note}", file=sys.stderr, flush=True)
        workers.supervise_here(request)
    started = workers.begin(request, lambda line: print(line, flush=True), limit_s)
    print("\n".join(show_settings(started)))
    if note:
        print(f"hearth: {note}", file=sys.stderr)


def _status(as_json: bool) -> None:
    sets, problems = workers.known_sets()
    for problem in problems:
        print(f"hearth: {problem}", file=sys.stderr)
    if as_json:
        print_document(workers_document(sets))
    else:
        print("\n".join(show_workers(sets, Screen.of())))


def _stop(name: str | None, drain: str) -> None:
    worker_set = workers.find_set(name)
    workers.drain(worker_set.places, parse_seconds(drain, "--drain"), print)
    workers.stop(worker_set)
    many = len(worker_set.places)
    print(f"{worker_set.name}: {many} worker{'s' if many > 1 else ''} stopped")


def _restart(name: str | None, drain: str) -> None:
    worker_set = workers.find_set(name)
    limit_s = parse_seconds(drain, "--drain")
    for place in worker_set.places:
        workers.drain([place], limit_s, print)
        workers.restart(worker_set, place, limit_s=120)
        print(f"place {place.id}: its worker has restarted", flush=True)
