"""Where things are: the jar, Spark, Java, and hearth's state and cache directories."""

import importlib.util
import os
import shutil
from pathlib import Path

import hearth
from hearth.model.errors import UserError


def hearth_jar() -> Path:
    """The one jar of hearth, shipped inside the Python package."""
    folder = Path(hearth.__file__).parent / "jars"
    jars = sorted(folder.glob("hearth-spark_*.jar"))
    if len(jars) != 1:
        found = f"{len(jars)} jars" if jars else "no jar"
        raise UserError(f"{found} of hearth in {folder}: one is needed, run 'make setup'")
    return jars[0]


def spark_home() -> Path:
    """`SPARK_HOME` where the user set it, else the installed pyspark package."""
    chosen = os.environ.get("SPARK_HOME")
    if chosen:
        if not (Path(chosen) / "bin" / "spark-submit").is_file():
            raise UserError(
                f"SPARK_HOME: no bin/spark-submit in '{chosen}': correct the variable or unset it"
            )
        return Path(chosen)
    # Found, not imported: importing pyspark takes a good part of a second.
    package = importlib.util.find_spec("pyspark")
    if package is None or not package.submodule_search_locations:
        raise UserError("pyspark is not installed: pip install pyspark==4.3.0, or set SPARK_HOME")
    return Path(package.submodule_search_locations[0])


def java() -> Path:
    """The `java` that Spark itself would start: of `JAVA_HOME`, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if found is None:
        where = f"in JAVA_HOME ({home})" if home else "on the path"
        raise UserError(f"java: none {where}: install a JDK of 17 or later, or set JAVA_HOME")
    return Path(found).resolve()


def state_home() -> Path:
    """Plans and the records of runs: `HEARTH_STATE`, else `~/.local/state/hearth` (XDG)."""
    chosen = os.environ.get("HEARTH_STATE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "hearth"


def cache_home() -> Path:
    """What can be made again at any time: `~/.cache/hearth` (XDG)."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hearth"
