"""Puts compiled modules beside the sources in zip files of Python modules.

Spark puts `pyspark.zip` before all else on the path of each Python process, which then compiles
what it imports, every time: half a second. The tests start hundreds of such processes.

usage: compiled_zip.py FILE...
"""

import py_compile
import sys
import tempfile
import zipfile
from copy import copy
from pathlib import Path


def main(files: list[str]) -> None:
    """Each is replaced as a whole."""
    for name in files:
        file = Path(name)
        part = file.with_suffix(".part")
        with zipfile.ZipFile(file) as old, zipfile.ZipFile(part, "w") as new:
            compile_into(new, old, file)
        part.replace(file)


def compile_into(new: zipfile.ZipFile, old: zipfile.ZipFile, file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = Path(folder, "source.py"), Path(folder, "compiled.pyc")
        for entry in old.infolist():
            if entry.filename.endswith(".pyc"):
                continue
            content = old.read(entry)
            new.writestr(copy(entry), content)  # it notes in there where it has put it
            if entry.filename.endswith(".py"):
                source.write_bytes(content)
                # Unchecked: the source beside it cannot be another.
                py_compile.compile(
                    str(source),
                    cfile=str(compiled),
                    dfile=str(file / entry.filename),
                    doraise=True,
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
                new.writestr(f"{entry.filename}c", compiled.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
