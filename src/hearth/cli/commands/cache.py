"""List and limit hearth's caches.

Everything here can be deleted at any time: hearth recreates it when it is needed. Records of runs
are not part of it; 'hearth runs' lists those.

examples:
  hearth cache
  hearth cache --limit 2g
  hearth cache --remove data
"""

from argparse import ArgumentParser, Namespace

from hearth.base.sizes import parse_bytes, show_bytes
from hearth.machine import paths
from hearth.report.terminal.screen import Screen, table
from hearth.workloads.cache import KINDS, CacheEntry, entries, over, remove
from hearth.workloads.datasets import data_home


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--limit", metavar="SIZE", help="delete the oldest entries until the total is at most SIZE"
    )
    chosen.add_argument("--remove", choices=(*KINDS, "all"), help="delete all entries of this kind")


def run(options: Namespace) -> int:
    """Remove what was asked for, then list what is left."""
    all_entries = entries()
    going = [entry for entry in all_entries if options.remove in (entry.kind, "all")]
    if options.limit is not None:
        going = over(all_entries, parse_bytes(options.limit, "--limit"))
    gone = []
    for entry in going:
        if remove(entry):
            gone.append(entry)
        else:
            print(f"kept '{entry.path}': another process is using it")
    if options.limit is not None or options.remove:
        print(f"removed {len(gone)}, {show_bytes(sum(entry.size_bytes for entry in gone))}")
    _show([entry for entry in all_entries if entry not in gone])
    return 0


def _show(left: list[CacheEntry]) -> None:
    rows = []
    for kind, (what, bound) in KINDS.items():
        sizes = [entry.size_bytes for entry in left if entry.kind == kind]
        where = data_home() if kind == "data" else paths.cache_home()
        rows.append((kind, str(len(sizes)), show_bytes(sum(sizes)), what, bound, str(where)))
    head = ("kind", "entries", "size", "what", "bounded by", "where")
    print("\n".join(table(Screen.of(), head, rows, right="entries size")))
