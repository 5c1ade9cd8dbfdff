"""The demonstration's runs: the same job bound by hearth and under plain Spark."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.base.codec import read_document
from hearth.base.errors import UserError
from hearth.base.private_files import private_directory
from hearth.machine import paths
from hearth.spark import children
from hearth.spark.cds import driver_flags

_HERE = Path(__file__).parent
#: The first pass over the work is cold and not among the times shown.
PASSES = 2
_LAST_LINES = 15


@dataclass(frozen=True)
class Outcome:
    """What one application answered: rows and seconds by name, its id, and its wall time."""

    document: dict[str, Any]
    wall_s: float


@dataclass(frozen=True)
class Demonstration:
    """The directory that all of it lives in, and the shape that the bound runs have."""

    folder: Path
    shape: list[str]

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def make_archives(self, debug: bool) -> None:
        """Makes what Spark starts from once for all runs, so that none of them is timed with it."""
        os.environ.update(self._environment())
        driver_flags(paths.spark_home(), paths.hearth_jar(), make=True, debug=debug)

    def run(self, name: str, bound: bool) -> Outcome:
        """Runs the job once; raises UserError with its last lines if it fails."""
        output, log = self.folder / f"{name}.json", self.folder / f"{name}.log"
        start = time.perf_counter()
        code = children.run_child(self._command(bound, output), self._environment(), log)
        wall = time.perf_counter() - start
        if code or not output.is_file():
            last = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            print("\n".join(f"    {line}" for line in last), file=sys.stderr)
            raise UserError(f"the run {name} ended with {code}; see its last lines above")
        return Outcome(read_document(output, dict, "run it again"), wall)

    def _command(self, bound: bool, output: Path) -> list[str]:
        if bound:
            start = [sys.executable, "-m", "hearth", "submit", "--workload", "sql", *self.shape]
        else:
            spark_submit = str(paths.spark_home() / "bin" / "spark-submit")
            start = [spark_submit, "--master", "local[*]"]
        plain = ["--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN"]
        inputs = [self.folder / "tables", self.folder / "queries", self.folder / "texts"]
        job = [str(_HERE / "job.py"), *map(str, inputs), str(PASSES), str(output)]
        return [*start, *plain, *job]

    def _environment(self) -> dict[str, str]:
        """The user's own spark-defaults.conf stays out of both sides of the comparison."""
        # At a place that stays: a class-data archive fits one path of Spark's configuration.
        nothing = private_directory(paths.cache_home() / "no-configuration")
        return {
            "HEARTH_STATE": str(self.state),
            "SPARK_CONF_DIR": str(nothing),
            "PYSPARK_PYTHON": sys.executable,
        }
