"""List recorded runs and studies (comparisons, tunes, ...), or delete them.

hearth submit keeps a light record of each run: its plan, times, exit code and memory; the latest 50
stay. hearth profile records where the time goes. Each study (comparison, characterisation, tune,
colocation, series of hearth lab bench, repetition of a published study) is kept with its runs. RUN
is the id of a run or a study, the beginning or the last four letters of it, or 'last' for the
latest run; 'hearth report RUN' shows it.

examples:
  hearth runs
  hearth runs --kind comparison --last 5
  hearth runs delete 20261121-134500-my-job-3fa9
  hearth runs delete --older-than 30d --yes
"""

import re
import sys
import time
from argparse import ArgumentParser, Namespace
from datetime import datetime
from pathlib import Path
from typing import Any

from hearth.base.codec import to_json
from hearth.base.errors import UserError
from hearth.cli.answer import print_document
from hearth.machine import paths
from hearth.machine.applications import Application, forget
from hearth.record.store import Record, delete_record, list_records, read_record
from hearth.report.terminal.runs import show_runs
from hearth.report.terminal.screen import Screen
from hearth.studies.listing import (
    ListedStudy,
    delete_study,
    find_light,
    find_run_or_study,
    light_records,
    list_studies,
)

KINDS = ("run", "comparison", "characterisation", "tune", "colocation", "study", "series")
_AGE = re.compile(r"\A(\d+)([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    parser.set_defaults(action="list", json=False, kind=None, last=None)
    actions = parser.add_subparsers(dest="action", metavar="list|delete")
    listing = actions.add_parser("list", help="list everything, oldest first (default)")
    listing.add_argument("--kind", choices=KINDS, help="only this kind (study: a published one)")
    listing.add_argument("--last", metavar="N", type=int, help="only the latest N")
    listing.add_argument("--json", action="store_true", help="print JSON")
    delete = actions.add_parser("delete", help="delete runs or studies; a study's runs stay")
    delete.add_argument("run", nargs="*", metavar="RUN")
    delete.add_argument(
        "--older-than", metavar="AGE", help="delete runs older than AGE: 12h, 30d, 4w, ..."
    )
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Return the options; those of `list` need no `list` before them."""
    bare = bool(words) and words[0].startswith("-") and words[0] not in ("-h", "--help")
    return parser.parse_args(["list", *words] if bare else words)


def run(options: Namespace) -> int:
    """Run the chosen action."""
    if options.action == "delete":
        return _delete(options.run, options.older_than, options.yes)
    return _list(options.kind, options.last, options.json)


def _list(kind: str | None, last: int | None, as_json: bool) -> int:
    if last is not None and last < 1:
        raise UserError(f"--last: {last} is below 1: give at least 1, or leave it out")
    records, problems = list_records(paths.state_home())
    studies, others = list_studies(paths.state_home())
    rows = [_row(record) for record in records]
    rows += [_light_row(one) for one in light_records(paths.state_home())]
    rows, studies = _wanted(kind, last, rows, studies)
    if as_json:
        listed = {"runs": rows, "experiments": to_json(studies)}
        print_document({"schema": "hearth/runs/1", **listed})
    else:
        shown = show_runs(rows, studies, Screen.of(), kind)
        print("\n".join(shown))
    for problem in [*problems, *others]:
        print(f"hearth: {problem}", file=sys.stderr)
    return 0


def _wanted(
    kind: str | None, last: int | None, rows: list[dict[str, Any]], studies: list[ListedStudy]
) -> tuple[list[dict[str, Any]], list[ListedStudy]]:
    """Filter by `--kind`, then keep the latest `--last`."""
    if kind is not None:
        rows = rows if kind == "run" else []
        studies = [study for study in studies if study.kind == kind]
    if last is None:
        return rows, studies
    starts = [*(row["started"] for row in rows), *(one.started for one in studies)]
    since = sorted(starts, reverse=True)[:last][-1:] or [""]
    return (
        [row for row in rows if row["started"] >= since[0]],
        [study for study in studies if study.started >= since[0]],
    )


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
        "profiled": True,
    }


def _light_row(application: Application) -> dict[str, Any]:
    files = [file for file in application.directory.rglob("*") if file.is_file()]
    return {
        "id": application.id,
        "started": application.started_at,
        "application": application.record["name"],
        "master": application.record["master"],
        "arm": None,
        "state": application.state,
        "wall_s": application.ended.wall_s if application.ended else None,
        "size_bytes": sum(file.lstat().st_size for file in files),
        "directory": str(application.directory),
        "profiled": False,
    }


def _delete(runs: list[str], older_than: str | None, sure: bool) -> int:
    chosen = _chosen(runs, older_than)
    if not chosen:
        print("nothing to delete")
        return 0
    for one in chosen:
        print(_named(one))
    if not sure and not _agreed(len(chosen)):
        print("nothing deleted")
        return 1
    for one in chosen:
        if isinstance(one, Record):
            delete_record(read_record(one.directory))
        elif isinstance(one, Application):
            forget(one)
        else:
            delete_study(one)
    print(f"deleted {len(chosen)}")
    return 0


def _named(one: Record | Application | Path) -> str:
    if isinstance(one, Application):
        return f"{one.id}  {one.record['name']}  {one.state}"
    if isinstance(one, Record):
        return f"{one.id}  {one.head.application}  {one.state}"
    return f"{one.stem}  {one.parent.name}"


def _chosen(runs: list[str], older_than: str | None) -> list[Record | Application | Path]:
    """Return the records, light ones too, and the directories of studies."""
    if bool(runs) == (older_than is not None):
        raise UserError("delete: give either runs or --older-than AGE")
    home = paths.state_home()
    if older_than is None:
        return [_one(home, name) for name in runs]
    before = time.time() - _age_s(older_than)
    records, _ = list_records(home)
    old: list[Record | Application | Path] = []
    old += [one for one in records if not one.running and _moment_s(one.head.started) < before]
    light = light_records(home)
    return old + [one for one in light if not one.alive and _moment_s(one.started_at) < before]


def _one(home: Path, name: str) -> Record | Application | Path:
    """Return what a name stands for; raise UserError where it is running."""
    light = find_light(home, name)
    kind, directory = (None, None) if light else find_run_or_study(home, name)
    if directory is not None and kind is not None:
        return directory
    one = light or read_record(directory or home)
    if isinstance(one, Application):
        pid, running = one.record["driver_pid"], one.alive
    else:
        pid, running = one.head.owner.pid, one.running
    if running:
        raise UserError(f"'{one.id}' is running (process {pid}): stop it first")
    return one


def _moment_s(started: str) -> float:
    return datetime.fromisoformat(started).timestamp()


def _age_s(text: str) -> int:
    match = _AGE.fullmatch(text)
    if match is None:
        raise UserError(f"--older-than: '{text}' is not an age: use e.g. 12h, 30d or 4w")
    return int(match[1]) * _SECONDS[match[2]]


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UserError(
            f"cannot ask whether to delete {count} of them, because there is no terminal: add --yes"
        )
    return input(f"delete {'it' if count == 1 else f'these {count}'}? [y/N] ").lower() == "y"
