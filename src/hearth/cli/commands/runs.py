"""List recorded runs, comparisons, tunes and the like; show, export or delete runs.

hearth profile records runs; hearth report ID shows a comparison, a tune or the like. RUN is an id,
the beginning of one, its last four letters, or 'last'.

examples:
  hearth runs
  hearth runs show last
  hearth runs export last --format csv --output tables
  hearth runs delete 20261121-134500-my-job-3fa9
  hearth runs delete --older-than 30d --yes
"""

import json
import re
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from pathlib import Path
from typing import Any

from hearth.analysis.analysis import analyse
from hearth.analysis.export import export
from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.machine import paths
from hearth.machine.applications import read_runs
from hearth.record.store import Record, delete_record, find_record, list_records, read_record
from hearth.report.terminal.profile import show_profile
from hearth.report.terminal.runs import show_runs
from hearth.report.terminal.screen import Screen
from hearth.studies.listing import list_studies

_AGE = re.compile(r"\A(\d+)([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def add_arguments(parser: ArgumentParser) -> None:
    """The command's options."""
    parser.set_defaults(action="list", json=False)
    actions = parser.add_subparsers(dest="action", metavar="list|show|export|delete")
    listing = actions.add_parser("list", help="list everything, oldest first (default)")
    listing.add_argument("--json", action="store_true", help="print JSON")
    showing = actions.add_parser("show", help="show one run and where its time went")
    showing.add_argument("run", metavar="RUN")
    showing.add_argument("--json", action="store_true", help="print the whole analysis as JSON")
    export = actions.add_parser("export", help="export a run's data as tables")
    export.add_argument("run", metavar="RUN")
    export.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    export.add_argument(
        "--output", metavar="DIR", help="directory to write to (default: the id of the run)"
    )
    delete = actions.add_parser("delete", help="delete finished runs")
    delete.add_argument("run", nargs="*", metavar="RUN")
    delete.add_argument(
        "--older-than", metavar="AGE", help="delete runs older than AGE: 12h, 30d, 4w, ..."
    )
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run(options: Namespace) -> int:
    """Runs the chosen action."""
    actions = {"list": _list, "show": _show, "export": _export, "delete": _delete}
    return actions[options.action or "list"](options)


def _list(options: Namespace) -> int:
    records, problems = list_records(paths.state_home())
    studies, others = list_studies(paths.state_home())
    rows = [_row(record) for record in records]
    if options.json:
        found = {"runs": rows, "experiments": to_json(studies)}
        print(json.dumps({"schema": "hearth/runs/1", **found}, indent=2))
    else:
        applications = len(read_runs(paths.state_home())[0])
        print("\n".join(show_runs(rows, studies, applications, Screen.of())))
    for problem in [*problems, *others]:
        print(f"hearth: {problem}", file=sys.stderr)
    return 0


def _row(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "started": record.head.started,
        "application": record.head.application,
        "master": record.head.master,
        "arm": record.head.arm,
        "state": record.state,
        "wall_s": record.wall_s,
        "size_bytes": record.size_bytes,
        "directory": str(record.directory),
    }


def _show(options: Namespace) -> int:
    record = find_record(paths.state_home(), options.run)
    analysis = analyse(record.directory)
    if options.json:
        print(json.dumps(to_json(analysis), indent=2))
    else:
        print("\n".join(show_profile(analysis, Screen.of())))
    return 0


def _export(options: Namespace) -> int:
    record = find_record(paths.state_home(), options.run)
    output = Path(options.output or record.id)
    analysis = analyse(record.directory)
    for file in export(analysis, record.directory, output, options.format):
        print(file)
    return 0


def _delete(options: Namespace) -> int:
    chosen = _chosen(options)
    if not chosen:
        print("nothing to delete")
        return 0
    for record in chosen:
        print(f"{record.id}  {record.head.application}  {record.state}")
    if not options.yes and not _agreed(len(chosen)):
        print("nothing deleted")
        return 1
    for record in chosen:
        delete_record(read_record(record.directory))
    print(f"deleted {len(chosen)}")
    return 0


def _chosen(options: Namespace) -> list[Record]:
    if bool(options.run) == (options.older_than is not None):
        raise UserError("delete: give either runs or --older-than AGE")
    home = paths.state_home()
    if options.run:
        chosen = [find_record(home, name) for name in options.run]
        for record in chosen:
            if record.running:
                pid = record.head.owner.pid
                raise UserError(f"'{record.id}' is running (process {pid}): stop it first")
        return chosen
    before = time.time() - _age_s(options.older_than)
    records, _ = list_records(home)
    return [record for record in records if not record.running and _started_s(record) < before]


def _started_s(record: Record) -> float:
    return datetime.fromisoformat(record.head.started).timestamp()


def _age_s(text: str) -> int:
    match = _AGE.fullmatch(text)
    if match is None:
        raise UserError(f"--older-than: '{text}' is not an age: use e.g. 12h, 30d or 4w")
    return int(match[1]) * _SECONDS[match[2]]


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(
            f"cannot ask whether to delete {count} runs, because there is no terminal: add --yes"
        )
    return input(f"delete {'it' if count == 1 else f'these {count}'}? [y/N] ").lower() == "y"
