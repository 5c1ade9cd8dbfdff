"""Find a native engine's jar: where a Spark has one, and whether the user gives it.

What the user does not give is resolved by Spark's own `--packages`, into its own folder
(spark.jars.ivy), once; from then on the jar is named in `--jars`, which asks no repository.
"""

import os
import pwd
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.base.errors import UserError
from hearth.machine.plan import ENGINES, PLUGINS
from hearth.record.machine_settings import spark_version
from hearth.spark.command import users_class_path
from hearth.spark.submit_args import Option, SubmitLine

PACKAGES, JARS, IVY = "spark.jars.packages", "spark.jars", "spark.jars.ivy"
#: Longer than a large jar takes over a slow line.
_LIMIT_S = 1800
#: Prints Hadoop's version: a program that every Spark has, and that needs none of its own.
_NOTHING = ("--class", "org.apache.hadoop.util.VersionInfo", "spark-internal")
#: The user's words that say from where, and by which proxy, Spark gets packages.
_ON_THE_WAY = ("--conf", "--properties-file", "--driver-java-options", "--repositories")
#: Of the time of `hearth submit`, with `--engine comet`; a test holds it against raw results.
SHARE = "0.52"
CONDITIONS = "TPC-H's 22 queries at scale 1, twice, with start-up; Spark 4.1, one JVM on 2 CPUs"


@dataclass(frozen=True)
class Published:
    """What Maven repositories have of an engine.

    title: its name in messages. home: where a person finds its jar. coordinates: Maven's, by the
    Spark for which they are made, a line such as `4.1` or a version; empty where there are none.
    megabytes: of the jar.
    """

    title: str
    home: str
    coordinates: Mapping[str, str]
    megabytes: int = 0

    def for_spark(self, version: str) -> str | None:
        """Return the coordinates for a Spark such as `4.1.4`."""
        line = ".".join(version.split(".")[:2])
        return self.coordinates.get(version) or self.coordinates.get(line)


_RAPIDS = "com.nvidia:rapids-4-spark_2.13:26.08.1"
#: By the names that `--engine` takes. A test holds it against what Maven Central has.
PUBLISHED = {
    "comet": Published(
        "Comet",
        "https://datafusion.apache.org/comet",
        {"4.1": "org.apache.datafusion:comet-spark-spark4.1_2.13:1.2.0"},
        99,
    ),
    "gluten": Published("Gluten", "https://gluten.apache.org", {}),
    # Each release of Spark has classes of its own in it.
    "rapids": Published(
        "RAPIDS",
        "https://nvidia.github.io/spark-rapids",
        dict.fromkeys(
            ("4.0.0", "4.0.1", "4.0.2", "4.0.3", "4.0.4", "4.1.1", "4.1.2", "4.1.3", "4.2.0"),
            _RAPIDS,
        ),
        1008,
    ),
}


def loaded(settings: Mapping[str, str]) -> str | None:
    """Return the engine whose plugin is among the settings."""
    plugins = [name.strip() for name in settings.get(PLUGINS, "").split(",")]
    return next((name for name, plugin in ENGINES.items() if plugin in plugins), None)


def advice(version: str) -> str | None:
    """Return what an engine brings to SQL over Parquet; None where there is none for this Spark."""
    if PUBLISHED["comet"].for_spark(version) is None:
        return None
    return f"such SQL took {SHARE} of the time with Comet ({CONDITIONS}): --engine comet"


def check(engine: str | None, line: SubmitLine, settings: Mapping[str, str], spark: Path) -> None:
    """Raise UserError for an engine that is not made for this Spark and whose jar nobody names."""
    if engine is None or _is_given(engine, line, settings, spark):
        return
    published, version = PUBLISHED[engine], spark_version(spark)
    if published.for_spark(version) is not None:
        return
    own = f"name a jar of yours ({published.home}), --jars FILE"
    if not published.coordinates:
        raise UserError(f"--engine: {published.title} is in no Maven repository: {own}")
    known = ", ".join(published.coordinates)
    raise UserError(
        f"--engine: no {published.title} for Spark {version}, only for Spark {known}: point "
        f"SPARK_HOME at such a Spark, or {own}"
    )


def with_jar(
    line: SubmitLine, settings: Mapping[str, str], spark: Path, *, fetch: bool
) -> tuple[SubmitLine, list[str]]:
    """Return the line with the jar of its engine, which is fetched where it is not there yet, and
    notes for the user.

    Without `fetch`, what is missing is named as a package. Raises UserError where none comes.
    """
    engine = line.planning.engine
    if engine is None or _is_given(engine, line, settings, spark):
        return line, []
    published = PUBLISHED[engine]
    coordinates = published.for_spark(spark_version(spark))
    if coordinates is None:  # `check` has refused it
        return line, []
    jar = _folder(settings) / _jar_name(coordinates)
    if not jar.is_file():
        size = f"{coordinates}, {published.megabytes} MB, once"
        if not fetch:
            note = f"{published.title} will be fetched first ({size}) into {jar.parent}"
            return joined(line, settings, "--packages", PACKAGES, coordinates), [note]
        print(f"hearth: fetching {published.title} ({size}) ...", file=sys.stderr, flush=True)
        jar = _fetched(line, settings, spark, coordinates)
    return joined(line, settings, "--jars", JARS, str(jar)), []


def joined(
    line: SubmitLine, settings: Mapping[str, str], name: str, key: str, value: str
) -> SubmitLine:
    """Return the line with a value behind those that the user gives in an option, or in its key."""
    users = line.last(name) or settings.get(key)
    others = tuple(option for option in line.options if option.name != name)
    together = ",".join(filter(None, [users, value]))
    return replace(line, options=(*others, Option(name, together)))


def _folder(settings: Mapping[str, str]) -> Path:
    """Return where Spark keeps the jars of packages (MavenUtils of Spark 4.0 to 4.3)."""
    # Java's user.home, which HOME does not change.
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return Path(settings.get(IVY) or home / ".ivy2.5.2") / "jars"


def _jar_name(coordinates: str) -> str:
    group, artifact, version = coordinates.split(":")
    return f"{group}_{artifact}-{version}.jar"


def _fetched(line: SubmitLine, settings: Mapping[str, str], spark: Path, coordinates: str) -> Path:
    """Have Spark resolve the package; return the jar."""
    way = replace(line, options=tuple(o for o in line.options if o.name in _ON_THE_WAY))
    program = [str(spark / "bin" / "spark-submit"), *way.option_words, "--master", "local"]
    command = [*program, "--deploy-mode", "client", "--packages", coordinates, *_NOTHING]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
        said, failed = done.stdout + done.stderr, done.returncode != 0
    except subprocess.TimeoutExpired:
        said, failed = f"(nothing came within {_LIMIT_S} s)", True
    stored = re.search(r"jars for the packages stored in: (.+)", said)
    jar = (Path(stored[1].strip()) if stored else _folder(settings)) / _jar_name(coordinates)
    if failed or not jar.is_file():
        copy = "-".join(coordinates.split(":")[1:])
        raise UserError(
            f"--engine: {coordinates} could not be fetched ({_why(said)}): name a repository that "
            f"has it, --repositories URL, or a copy of {copy}.jar, --jars FILE"
        )
    return jar


def _why(said: str) -> str:
    """Return the last reason of what Ivy says."""
    refused = re.search(r"Server access error at url (\w+://[^/\s]+)\S* \((.+)\)", said)
    if refused:
        return f"{refused[1]}: {refused[2].rpartition('Exception: ')[2]}"
    if "not found" in said:
        return "no repository has it"
    lines = [text for text in said.splitlines() if text.strip() and not text.startswith("\tat ")]
    return lines[-1].strip() if lines else "Spark does not say why"


def _is_given(engine: str, line: SubmitLine, settings: Mapping[str, str], spark: Path) -> bool:
    """Return whether the user's class path, jars or packages have the engine."""
    packages = line.last("--packages") or settings.get(PACKAGES) or ""
    artifacts = {c.rpartition(":")[0] for c in PUBLISHED[engine].coordinates.values()}
    if any(name.rpartition(":")[0] in artifacts for name in packages.split(",")):
        return True
    entry = ENGINES[engine].replace(".", "/") + ".class"
    named = (line.last("--jars") or settings.get(JARS) or "").split(",")
    path = users_class_path(line, settings).split(":")
    elsewhere = (name for name in named if "://" in name and not name.startswith("file:"))
    return any(engine in name.rpartition("/")[2] for name in elsewhere) or any(
        _has(file, entry)
        for file in (*_files([*named, *path]), *(spark / "jars").glob(f"*{engine}*.jar"))
    )


def _files(names: Iterable[str]) -> Iterator[Path]:
    """Yield the files and directories of jars or a class path."""
    for name in filter(None, map(str.strip, names)):
        path = Path(name.removeprefix("file://").removeprefix("file:"))
        if "*" in path.name:  # of a class path, all jars of a directory
            yield from path.parent.glob(path.name if path.suffix else "*.jar")
        else:
            yield path


def _has(path: Path, entry: str) -> bool:
    """Return whether a jar or a directory has a class."""
    try:
        if path.is_dir():
            return (path / entry).is_file()
        with zipfile.ZipFile(path) as jar:
            return entry in jar.NameToInfo
    except (OSError, zipfile.BadZipFile):
        return False
