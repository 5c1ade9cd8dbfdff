"""DuckDB, which works out answers of any size: what does not fit into memory goes to files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hearth.workloads.checks import FinishedRun

if TYPE_CHECKING:
    import duckdb


class DuckDbMemoryError(Exception):
    """Neither the memory nor the disk of this machine held what DuckDB needed."""


@contextmanager
def duck(run: FinishedRun) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a connection that spills to the answer's folder.

    Raises DuckDbMemoryError where the work done with it runs out of memory and disk.
    """
    import duckdb

    spilled = run.answer / "_spilled"
    try:
        with duckdb.connect(config={"temp_directory": str(spilled)}) as connection:
            yield connection
    except duckdb.OutOfMemoryException as error:
        reason = str(error).splitlines()[0]
        raise DuckDbMemoryError(f"DuckDB could not hold what it needed: {reason}") from error
    finally:
        shutil.rmtree(spilled, ignore_errors=True)
