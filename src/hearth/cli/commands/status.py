"""Show running applications: where each executor really is, and any drift from the plan.

One JVM has a line: its task slots, heap, and memory now. For each executor: its place in the plan,
process id, allowed CPUs, memory policy, the nodes that hold its anonymous memory, and the CPUs on
which its threads last ran, all read from the kernel now.

--leases shows what the running applications of all users hold: an application takes a lease of CPUs
and memory when it starts under local-numa, and others plan around it. A lease ends with the last
process of its application, however that ends.

A warm server (hearth submit --warm) is shown with the programs that use it, or since when it is
idle and when it ends. --stop ends one, or all of this user's.

examples:
  hearth status
  hearth status --watch
  hearth status --all
  hearth status --leases
  hearth status app-20261121120000-0001 --json
  hearth status --stop
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any

from hearth.base.codec import to_json, typed
from hearth.base.durations import show_moment
from hearth.base.errors import UserError
from hearth.base.sizes import counted, show_mb
from hearth.base.terminal import clear_screen
from hearth.cli.answer import print_document
from hearth.machine import jvm, paths
from hearth.machine.applications import (
    Application,
    find_application,
    last_placement,
    read_applications,
)
from hearth.machine.leases import Leases
from hearth.machine.placement import Placement
from hearth.machine.tree import NotSeen, Tree
from hearth.report.terminal.leases import show_leases
from hearth.report.terminal.light import planned
from hearth.report.terminal.placement import show_placement
from hearth.report.terminal.screen import Screen
from hearth.spark.warm import WarmServer, clients, folder_of, idle_since, servers, stop

_WATCH_S = 2.0


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("app", nargs="?", metavar="APP", help="show one application, by id or name")
    parser.add_argument(
        "--leases",
        action="store_true",
        help="show what all users' applications hold",
    )
    stop = "end the warm server ID; without ID, all of this user's"
    parser.add_argument("--stop", nargs="?", const="", metavar="ID", help=stop)
    parser.add_argument("--all", action="store_true", help="include finished applications")
    parser.add_argument("--watch", action="store_true", help="refresh every 2 s until Ctrl-C")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON (schema of --leases: hearth schema leases)",
    )


def run(options: Namespace) -> int:
    """List the recorded applications, or the leases."""
    if options.watch and options.json:
        raise UserError("--watch: cannot be combined with --json: leave one of them out")
    if options.leases and (options.app is not None or options.all):
        other = "APP" if options.app is not None else "--all"
        raise UserError(f"--leases: cannot be combined with {other}: leave one of them out")
    if options.stop is not None:
        return _stop(options.stop)
    while True:
        if options.watch:
            clear_screen()
        if options.leases:
            _show_leases(as_json=options.json, debug=options.debug)
        else:
            show(options.app, ended=options.all, as_json=options.json, debug=options.debug)
        if not options.watch:
            return 0
        sys.stdout.flush()
        time.sleep(_WATCH_S)


def _stop(server_id: str) -> int:
    found = [one for one in servers() if server_id in ("", one.id)]
    if server_id and not found:
        ids = ", ".join(one.id for one in servers()) or "none runs"
        raise UserError(f"--stop: no warm server '{server_id}': {ids}")
    for server in found:
        used = clients(server.id)
        stop(server)
        lost = f"; {counted(used, 'program')} used it" if used else ""
        print(f"warm server {server.id} is stopped{lost}")
    if not found:
        print("no warm server is running")
    return 0


def _show_leases(*, as_json: bool, debug: bool) -> None:
    document = jvm.call("leases", debug=debug)
    if as_json:
        print_document(document)
    else:
        print("\n".join(show_leases(typed(document, Leases), Screen.of())))


def show(app: str | None, *, ended: bool, as_json: bool, debug: bool) -> None:
    """Show one application, or all that run; ended: those that have ended too."""
    recorded, problems = read_applications(paths.state_home())
    for problem in problems:
        print(f"hearth: {problem}", file=sys.stderr)
    if app is not None:
        recorded = [find_application(recorded, app)]
    elif not ended:
        recorded = [one for one in recorded if one.alive]
    applications = [_document(one, debug, app is not None) for one in recorded]
    if as_json:
        warm = [_warm_document(one) for one in servers()]
        document = {"schema": "hearth/status/1", "applications": applications, "warm": warm}
        print_document(document)
    else:
        warm = [_warm_document(one) for one in servers()] if app is None else []
        print("\n".join([*map(_warm_line, warm), *(_lines(applications, warm))]))


def _document(application: Application, debug: bool, named: bool) -> dict[str, Any]:
    """Return the record, the state and a new reading; for a named, ended one the last reading."""
    directory = str(application.directory)
    document = {**application.record, "state": application.state, "directory": directory}
    if not application.is_bound:
        document["runs_as"] = f"{planned(application)}{_memory_now(application)}"
        return document
    if application.alive and (application.directory / "placement.json").is_file():
        try:
            document["placement"] = jvm.call("placement", "--run", directory, debug=debug)
        except UserError as problem:  # of this application alone
            document["placement_absent"] = str(problem)
    elif named and (last := last_placement(application)) is not None:
        document["placement"] = to_json(last)
    return document


def _memory_now(application: Application) -> str:
    """Say how much memory the driver has now; nothing where it has ended."""
    if not application.alive:
        return ""
    try:
        kb = Tree().field(f"proc/{application.record['driver_pid']}/status", "VmRSS")
    except NotSeen:
        return ""
    return f", {show_mb(kb >> 10)} of memory now"


def _warm_document(server: WarmServer) -> dict[str, Any]:
    """Return what is shown of a warm server; idle_since and ends_at while no program uses it."""
    shown = {name: getattr(server, name) for name in ("id", "pid", "started_at", "idle_s")}
    shown |= {"directory": server.identity["directory"], "programs": clients(server.id)}
    if not shown["programs"]:
        since = idle_since(folder_of(server.id))
        moments = {"idle_since": since, "ends_at": since + server.idle_s}
        shown |= {name: _moment(value) for name, value in moments.items()}
    return shown


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _warm_line(server: dict[str, Any]) -> str:
    used = f"used by {counted(server['programs'], 'program')}"
    if not server["programs"]:
        since, ends = (show_moment(server[name]) for name in ("idle_since", "ends_at"))
        used = f"idle since {since}, ends at {ends}"
    return f"warm server {server['id']}: {used}; driver {server['pid']}, in {server['directory']}"


def _lines(applications: list[dict[str, Any]], warm: list[dict[str, Any]]) -> list[str]:
    if warm and not applications:
        return []
    if not applications:
        return ["no application is running (--all lists ended ones)"]
    screen = Screen.of()
    lines: list[str] = []
    for item in applications:
        lines.append(screen.title(f"{item['app_id']}  {item['name']}") + f"  {item['state']}")
        ui = f", UI {item['ui']}" if "ui" in item and item["state"] == "running" else ""
        lines.append(
            f"  {item['master'] or 'no master'}, driver {item['driver_pid']}, "
            f"started {show_moment(item['started_at'])}{ui}"
        )
        if "runs_as" in item:
            lines.append(f"  {item['runs_as']}")
        elif "placement" in item:
            if item["state"] != "running":
                lines.append(f"  placement as of {show_moment(item['placement']['taken_at'])}:")
            lines += show_placement(typed(item["placement"], Placement), screen)
        elif "placement_absent" in item:
            lines.append(screen.paragraph(f"placement unknown: {item['placement_absent']}", "  "))
        lines.append("")
    return lines[:-1]
