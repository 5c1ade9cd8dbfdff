"""DuckDB, which works out answers of any size: what does not fit into memory goes to files."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hearth.workloads.checks import FinishedRun, UncheckedError

if TYPE_CHECKING:
    import duckdb


#: The lines of text files, which are the query's next parameter.
LINES = """read_csv(?, columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='',
    header=false, auto_detect=false)"""


@contextmanager
def duck(run: FinishedRun) -> Iterator["duckdb.DuckDBPyConnection"]:
    """Open a connection that spills to the answer's folder.

    Raises UncheckedError where the work done with it runs out of memory and disk.
    """
    import duckdb

    spilled = run.answer / "_spilled"
    try:
        with duckdb.connect(config={"temp_directory": str(spilled)}) as connection:
            yield connection
    except duckdb.OutOfMemoryException as error:
        reason = str(error).splitlines()[0]
        raise UncheckedError(f"DuckDB could not hold what it needed: {reason}") from error
    finally:
        shutil.rmtree(spilled, ignore_errors=True)
