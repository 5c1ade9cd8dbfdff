"""The demonstration's data: TPC-H by a real generator, and texts that Debian ships."""

import shutil
from pathlib import Path

from hearth.base.errors import UserError
from hearth.base.sizes import show_bytes
from hearth.workloads.datasets import ensure
from hearth.workloads.tpch import TpchTables, query_text

#: Present on every Debian and Debian-like system (package base-files).
LICENCES = Path("/usr/share/common-licenses")
#: Those of TPC-H's queries that the demonstration runs.
QUERIES = (1, 3, 6)


def generate(folder: Path, scale: float) -> str:
    """Make tables, queries, texts and a place for answers below a folder; say what was made."""
    size = generate_tables(scale, folder / "tables")
    write_queries(scale, folder / "queries")
    texts = copy_texts(folder / "texts")
    (folder / "answers").mkdir()
    return (f"TPC-H at scale {scale:g} by tpchgen-cli: {show_bytes(size)} of Parquet; {texts} "
            "licence texts from Debian's base-files for the word count")  # fmt: skip


def generate_tables(scale: float, folder: Path) -> int:
    """Make TPC-H's eight tables at a scale factor, a folder of Parquet files each; their bytes."""
    ensure(TpchTables(scale), folder)
    return sum(file.stat().st_size for file in folder.glob("*/*.parquet"))


def write_queries(scale: float, folder: Path) -> None:
    """Write the queries that run, as files that both engines read."""
    folder.mkdir()
    for number in QUERIES:
        text = query_text(number, scale)
        (folder / f"q{number:02d}.sql").write_text(text, encoding="utf-8")


def copy_texts(folder: Path, source: Path = LICENCES) -> int:
    """Copy the licence texts, without the second names of the same text; their number."""
    texts = sorted(f for f in source.glob("*") if f.is_file() and not f.is_symlink())
    if not texts:
        raise UserError(
            f"no text in '{source}': the word count reads those that Debian installs there"
        )
    folder.mkdir()
    for text in texts:
        shutil.copyfile(text, folder / text.name)
    return len(texts)
