"""Where things are: the jar, Spark, Java, and hearth's state and cache directories."""

import importlib.util
import os
import pwd
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
        raise UserError(f"{found} of hearth in {folder}: exactly one is needed, run 'make setup'")
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
    # Found, not imported: importing pyspark takes most of a second.
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
    return Path(chosen).absolute() if chosen else _base("XDG_STATE_HOME", ".local/state") / "hearth"


def cache_home() -> Path:
    """What can be recreated at any time: `~/.cache/hearth` (XDG)."""
    return _base("XDG_CACHE_HOME", ".cache") / "hearth"


def home() -> Path:
    """`HOME`, else the home directory of the user database, as the JVM side has it (`Homes`)."""
    chosen = os.environ.get("HOME", "")
    if chosen.startswith("/"):
        return Path(chosen)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as unknown:
        raise UserError(
            f"HOME: not set, and user {os.getuid()} has no entry in the user database: set HOME"
        ) from unknown


def _base(variable: str, below_home: str) -> Path:
    """A base directory; a relative path is ignored (XDG Base Directory 0.8)."""
    chosen = os.environ.get(variable, "")
    return Path(chosen) if chosen.startswith("/") else home() / below_home
