"""The demonstration's data: TPC-H by a real generator, and texts that Debian ships."""

import shutil
import sys
from pathlib import Path

from hearth.launch.children import run_child
from hearth.model.errors import UserError

#: Present on every Debian and Debian-like system (package base-files).
LICENCES = Path("/usr/share/common-licenses")


def generate_tables(scale: float, folder: Path, log: Path) -> int:
    """Writes TPC-H's eight tables as Parquet files at a scale factor; bytes written."""
    beside = Path(sys.executable).with_name("tpchgen-cli")
    generator = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if generator is None:
        raise UserError("tpchgen-cli is not installed: pip install 'hearth[demo]'")
    folder.mkdir()
    command = [generator, "parquet", "-s", str(scale), "--output-dir", str(folder)]
    code = run_child(command, {}, log)
    tables = list(folder.glob("*.parquet"))
    if code or len(tables) != 8:
        said = log.read_text(errors="replace").strip().splitlines()
        reason = said[-1] if said else "it says nothing"
        raise UserError(f"tpchgen-cli ended with {code}, {len(tables)} of 8 tables: {reason}")
    return sum(table.stat().st_size for table in tables)


def copy_texts(folder: Path, source: Path = LICENCES) -> int:
    """Copies the licence texts, without the second names of the same text; their number."""
    texts = sorted(f for f in source.glob("*") if f.is_file() and not f.is_symlink())
    if not texts:
        raise UserError(
            f"no text in '{source}': the word count reads those that Debian ships there"
        )
    folder.mkdir()
    for text in texts:
        shutil.copyfile(text, folder / text.name)
    return len(texts)
