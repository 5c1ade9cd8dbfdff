"""Split a `hearth submit` command line: hearth's options, spark-submit's, the application's.

spark-submit's own options are known by whether they take a value (SparkSubmitOptionParser of
Spark 4.3), which is the only way to tell the application file from a value. Whatever follows the
application file belongs to the application and is not inspected.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from hearth.base.errors import UserError, nearest
from hearth.base.redaction import Redaction
from hearth.machine.plan import PlanRequest

# fmt: off
_WITH_VALUE = frozenset((
    "--archives", "--class", "--conf", "-c", "--deploy-mode", "--driver-class-path",
    "--driver-cores", "--driver-default-class-path", "--driver-java-options",
    "--driver-library-path", "--driver-memory", "--exclude-packages", "--executor-cores",
    "--executor-memory", "--extra-properties-file", "--files", "--jars", "--keytab", "--kill",
    "--master", "--name", "--num-executors", "--packages", "--principal", "--properties-file",
    "--proxy-user", "--py-files", "--queue", "--remote", "--repositories", "--status",
    "--total-executor-cores",
))
_SWITCHES = frozenset((
    "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version",
))
# fmt: on
#: Options of spark-submit that set a key.
OPTION_KEYS = {
    "--driver-cores": "spark.driver.cores",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--driver-memory": "spark.driver.memory",
    "--executor-cores": "spark.executor.cores",
    "--executor-memory": "spark.executor.memory",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
}


def spark_options() -> dict[str, bool]:
    """Return spark-submit's long options by name: True for those that take a value."""
    known = {**dict.fromkeys(_WITH_VALUE, True), **dict.fromkeys(_SWITCHES, False)}
    return {name: known[name] for name in sorted(known) if name.startswith("--")}


#: The program of Spark's Connect server.
CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_EQUALS = re.compile(r"\A(--[^=]+)=(.*)", re.DOTALL)


class UnknownOptionError(UserError):
    """An option that neither hearth's command nor spark-submit has; near: one like it, if any."""

    def __init__(self, shown: str, near: str | None, hint: str) -> None:
        super().__init__(f"'{shown}' is not an option of hearth or spark-submit: {hint}")
        self.shown, self.near = shown, near


@dataclass(frozen=True)
class SubmitOptions:
    """The user's wishes for the plan: hearth's own options of a command that runs an application.

    The field `when_full` is the option `--when-full`, and so on; None or False where not given.
    """

    input: str | None = None
    workload: str | None = None
    executors: int | None = None
    cores: int | None = None
    memory: str | None = None
    bind: str | None = None
    hosts: str | None = None
    docker: bool = False
    when_full: str | None = None
    width: str | None = None
    reserve_cpus: str | None = None

    @property
    def given(self) -> dict[str, str | int | bool]:
        """The options that the user gave, by name: `--when-full`."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        given = {name: value for name, value in values if value is not None and value is not False}
        return {f"--{name.replace('_', '-')}": value for name, value in given.items()}

    def to_words(self) -> list[str]:
        """Return the words that stand for them on a command line."""
        words: list[str] = []
        for name, value in self.given.items():
            words += [name] if value is True else [name, str(value)]
        return words

    def or_else(self, other: "SubmitOptions") -> "SubmitOptions":
        """Return these options, and of those that are not given here the other's."""
        pairs = {f.name: getattr(self, f.name) or getattr(other, f.name) for f in fields(self)}
        return SubmitOptions(**pairs)

    def plan_request(
        self, conf: Mapping[str, str], *, python: bool, occupied: str | None = None
    ) -> PlanRequest:
        """Return the request for a plan of this machine. conf: the user's Spark settings."""
        shared = {name: getattr(self, name) for name in _PLANNED}
        return PlanRequest(**shared, python=python, occupied=occupied, conf=conf)


_PLANNED = ("input", "workload", "executors", "cores", "memory", "bind")


@dataclass(frozen=True)
class Option:
    """One option of spark-submit; `value` is None for a switch."""

    name: str
    value: str | None

    @property
    def key(self) -> str | None:
        """The setting that it makes."""
        if self.name == "--conf":
            return (self.value or "").partition("=")[0].strip()
        return OPTION_KEYS.get(self.name)


@dataclass(frozen=True)
class SplitLine:
    """The words of a command line in three parts, before hearth's own are read.

    hearth: hearth's options, for its own parser. options: spark-submit's, in order.
    application: the application file and its arguments, untouched; empty where there is none.
    marked: whether `--` stands before the application, so that all behind it is its own for sure.
    """

    hearth: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    application: list[str] = field(default_factory=list)
    marked: bool = False


@dataclass(frozen=True)
class SubmitLine:
    """A command line that is read.

    planning: hearth's own options. options: spark-submit's. application: the file and its
    arguments.
    """

    planning: SubmitOptions = SubmitOptions()
    options: tuple[Option, ...] = ()
    application: tuple[str, ...] = ()

    def last(self, name: str) -> str | None:
        """Return the last value given for an option: the one that Spark takes."""
        values = [option.value for option in self.options if option.name == name]
        return values[-1] if values else None

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    def adding(self, *options: Option) -> "SubmitLine":
        """Return the line with these options of spark-submit behind the user's."""
        return replace(self, options=(*self.options, *options))

    @property
    def is_python(self) -> bool:
        """Whether the program, or those of a Connect server, are in Python: its workers need memory
        beside the heap.
        """
        name = self.application[0] if self.application else ""
        return name.endswith(".py") or self.last("--class") == CONNECT_SERVER

    @property
    def option_words(self) -> list[str]:
        """spark-submit's options as words."""
        return [word for o in self.options for word in (o.name, o.value) if word is not None]


def split_line(arguments: Iterable[str], hearth_options: Mapping[str, bool]) -> SplitLine:
    """Split the words behind `hearth submit` or a command like it.

    hearth_options: those of the command, by whether they take a value.
    Raises UserError for an option that is unknown to both hearth and spark-submit, or that lacks
    its value.
    """
    line = SplitLine()
    words = iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            line.application.extend([word, *words])
        elif word == "--":
            line = replace(line, marked=True)
            line.application.extend(words)
        else:
            _take(word, words, line, hearth_options)
    return line


#: hearth's options that an application hardly has too.
_HEARTHS_OWN = (
    *("--dry-run", "--executors", "--cores", "--bind", "--docker", "--hosts", "--when-full"),
)


def is_application(name: str) -> bool:
    """Return whether it names a file, existing or not: no suite or workload has such a name."""
    return Path(name).is_file() or "." in name or "/" in name


def late_options(application: Sequence[str]) -> list[str]:
    """Return a note for each word behind the application that looks like an option of hearth's."""
    program, words = application[:1], application[1:]
    return [
        f"{name} after {program[0]} is the application's; hearth's options go before {program[0]}"
        for name in _HEARTHS_OWN
        if any(word.partition("=")[0] == name for word in words)
    ]


DRY_RUN = "--dry-run"


def has_dry_run(arguments: Iterable[str]) -> bool:
    """Return whether an application is given `--dry-run`, which hearth has too."""
    return any(word.partition("=")[0] == DRY_RUN for word in arguments)


def marked_application(application: Sequence[str]) -> list[str]:
    """Return the words of an application for a command of hearth's, behind `--` if need be."""
    return [*(["--"] if has_dry_run(application[1:]) else []), *application]


def _take(
    word: str, words: Iterator[str], line: SplitLine, hearth_options: Mapping[str, bool]
) -> None:
    match = _EQUALS.fullmatch(word)
    name, value = (match[1], match[2]) if match else (word, None)
    if name in hearth_options:
        line.hearth.append(word)
        if hearth_options[name] and value is None:
            line.hearth.append(_next(name, words))
    elif name in _WITH_VALUE:
        name = "--conf" if name == "-c" else name
        line.options.append(Option(name, _next(name, words) if value is None else value))
    elif name in _SWITCHES and value is None:
        line.options.append(Option(name, None))
    else:
        raise _unknown(word, hearth_options)


def _next(name: str, words: Iterator[str]) -> str:
    value = next(words, None)
    if value is None:
        raise UserError(f"{name}: needs a value: see 'hearth submit --help'")
    return value


def _unknown(word: str, hearth_options: Mapping[str, bool]) -> UnknownOptionError:
    near = nearest(word, [*hearth_options, *_WITH_VALUE, *_SWITCHES])
    hint = f"did you mean '{near}'?" if near else "see 'hearth submit --help'"
    shown = Redaction.of({}).words([word])[0]
    return UnknownOptionError(shown, near, hint)


def application_name(line: SubmitLine, settings: dict[str, str]) -> str:
    """Return the name that the user chose, or else the file's name."""
    chosen = line.last("--name") or settings.get("spark.app.name")
    return chosen or Path(line.application[0]).stem
