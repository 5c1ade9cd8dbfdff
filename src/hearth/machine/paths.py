"""Find the jar, Spark, Java, and hearth's state and cache directories."""

import contextlib
import importlib.util
import os
import pwd
import re
import shutil
from pathlib import Path

from hearth.base.errors import UserError

#: What `spark.shuffle.manager` names to shuffle over the wire; it is in `wire_jar()`.
WIRE_SHUFFLE_MANAGER = "org.apache.spark.shuffle.wire.WireShuffleManager"


def hearth_jar() -> Path:
    """Return the jar that Spark needs for `local-numa`."""
    return _shipped("hearth-spark_*.jar")


def wire_jar() -> Path:
    """Return the jar of the wire: a shuffle manager of Spark, and an RPC engine of Hadoop."""
    return _shipped("hearth-wire_*.jar")


def workloads_jar() -> Path:
    """Return the jar of the workloads' jobs and generators."""
    return _shipped("hearth-workloads_*.jar")


def affinity_jar() -> Path:
    """Return the agent for communication threads."""
    return _shipped("hearth-affinity.jar")


def _shipped(pattern: str) -> Path:
    """Return a jar inside the Python package; raise UserError unless there is exactly one."""
    folder = Path(__file__).parents[1] / "jars"
    jars = sorted(folder.glob(pattern))
    if len(jars) != 1:
        raise UserError(
            f"{len(jars) or 'no'} {pattern} in {folder}: exactly one is needed; install hearth's "
            "wheel again, or run 'make setup' in a checkout"
        )
    return jars[0]


#: The versions that the jar is made for (`SupportedSpark`), and how to get one.
SPARK_VERSIONS = "Spark 4.0 to 4.3 (Scala 2.13)"
_SUPPORTED_SPARK = re.compile(r"spark-core_2\.13-4\.[0-3][.-].*")
_PYSPARK = "pip install 'pyspark>=4.0,<4.4'"
_OLDEST_JAVA = 17
_INSTALL_JAVA = (
    f"install one of {_OLDEST_JAVA} or later (Debian, Ubuntu: apt-get install "
    "openjdk-17-jre-headless; Fedora: dnf install java-21-openjdk-headless), or set JAVA_HOME"
)


def check_spark(home: Path) -> None:
    """Raise UserError if hearth's jar is not made for this Spark."""
    cores = sorted((home / "jars").glob("spark-core_*.jar"))
    if not any(_SUPPORTED_SPARK.fullmatch(jar.name) for jar in cores):
        version = cores[-1].name if cores else "no spark-core jar"
        raise UserError(
            f"SPARK_HOME: {version} in {home}/jars: hearth is for {SPARK_VERSIONS}; point "
            f"SPARK_HOME at one, or unset it and {_PYSPARK}"
        )


def spark_home(named: Path | None = None) -> Path:
    """Return the Spark that is named, else `SPARK_HOME`, else the installed pyspark package."""
    if named is not None:
        if not _is_spark(named):
            raise UserError(f"--spark-home: no bin/spark-submit in '{named}': name a Spark")
        return named
    chosen = os.environ.get("SPARK_HOME")
    if chosen:
        if not _is_spark(Path(chosen)):
            raise UserError(
                f"SPARK_HOME: no bin/spark-submit in '{chosen}': correct the variable or unset it"
            )
        return Path(chosen)
    # Found, not imported: importing pyspark takes most of a second.
    package = importlib.util.find_spec("pyspark")
    if package is None or not package.submodule_search_locations:
        raise UserError(f"pyspark is not installed: {_PYSPARK}, or set SPARK_HOME")
    return Path(package.submodule_search_locations[0])


def _is_spark(folder: Path) -> bool:
    try:
        return (folder / "bin" / "spark-submit").is_file()
    except OSError:  # of a folder that this user may not enter
        return False


def java() -> Path:
    """Return the `java` that Spark itself would start: of `JAVA_HOME`, else the first on the path.

    Raises UserError where there is none, or where its `release` file names one that is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if program is None:
        where = f"in JAVA_HOME ({home})" if home else "on the path"
        raise UserError(f"java: none {where}: {_INSTALL_JAVA}")
    java = Path(program).resolve()
    major = _java_major(java)
    if major is not None and major < _OLDEST_JAVA:
        raise too_old(java, f"is Java {major}")
    return java


def too_old(java: Path, what: str) -> UserError:
    return UserError(f"java: {java} {what}: {_INSTALL_JAVA}")


def _java_major(java: Path) -> int | None:
    """Return 11 for 11.0.2, 8 for 1.8.0; None where no file says so (starting it takes long)."""
    for folder in java.parents[1:3]:  # a JRE may lie inside a JDK
        with contextlib.suppress(OSError):
            text = (folder / "release").read_text(errors="replace")
            if named := re.search(r'^JAVA_VERSION="(?:1\.)?(\d{1,3})', text, re.MULTILINE):
                return int(named[1])
    return None


def state_home() -> Path:
    """Return the place of plans and records: `HEARTH_STATE`, else `~/.local/state/hearth` (XDG)."""
    chosen = os.environ.get("HEARTH_STATE")
    return Path(chosen).absolute() if chosen else _base("XDG_STATE_HOME", ".local/state") / "hearth"


def cache_home() -> Path:
    """Return the directory of caches: `~/.cache/hearth` (XDG)."""
    return _base("XDG_CACHE_HOME", ".cache") / "hearth"


def home() -> Path:
    """Return `HOME`, else the user database's home directory, as the JVM side does (`Homes`)."""
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
    """Return a base directory; a relative path is ignored (XDG Base Directory 0.8)."""
    chosen = os.environ.get(variable, "")
    return Path(chosen) if chosen.startswith("/") else home() / below_home
