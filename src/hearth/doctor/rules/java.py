"""Java: its version, and the options that the user gives it."""

import re

from hearth.base.java import OPTION_VARIABLES
from hearth.doctor.java import java_options, words_of
from hearth.doctor.machine import Machine, known
from hearth.doctor.rule import Fine, Outcome, Problem, Rule
from hearth.machine.tree import NotSeen

_CONF = "spark-defaults.conf"
_ANYWHERE = f"{_CONF} and variables such as JAVA_TOOL_OPTIONS"
#: What a plan decides, and a heap size for all JVMs alike.
_PLANNED = re.compile(
    r"-Xm[snx]\S+|-XX:[+-]?(?:Use\w+GC|UseNUMA|ActiveProcessorCount|ParallelGCThreads|"
    r"ConcGCThreads|CICompilerCount|Max\w*RAMPercentage|NewSize|MaxNewSize)\b\S*"
)
#: JDK-8380060 is mended in the Java that has them by default (corretto-25, issue 73).
_COMPACT, _COMPACT_FROM = "-XX:+UseCompactObjectHeaders", 27
_HEAP = re.compile(r"-Xmx\S+")
_COUNT = re.compile(r"-XX:(?:ActiveProcessorCount|ParallelGCThreads|ConcGCThreads)=(\d{1,6})\b")


def _compact_headers(machine: Machine) -> Outcome:
    if _COMPACT not in words_of(java_options(machine)):
        return Fine("no Java option asks for compact object headers")
    version = known(machine.user_settings().java_version)
    major = re.match(r"\d+", version)
    if major is None:
        raise NotSeen("the version of Java is not known: its 'release' file does not tell it")
    seen = f"{_COMPACT} on Java {version}"
    return Fine(seen) if int(major[0]) >= _COMPACT_FROM else Problem(seen, "harm")


def _java_option_variables(machine: Machine) -> Outcome:
    environment = machine.user_settings().environment
    for name in OPTION_VARIABLES:
        if option := _PLANNED.search(environment.get(name, "")):
            return Problem(
                f"{name} has {option[0][:60]}",
                how=f"unset {name}; give options to one application by "
                "spark.executor.extraJavaOptions",
                reads=f"the variable {name}",
            )
    return Fine("no variable gives every JVM options that a plan decides")


def _java_options_against_plan(machine: Machine) -> Outcome:
    settings = machine.user_settings().settings
    for kind in ("extra", "default"):
        for who in ("spark.driver", "spark.executor"):
            key = f"{who}.{kind}JavaOptions"
            options = settings.get(key, "")
            if heap := _HEAP.search(options):
                return Problem(
                    f"{key} has {heap[0][:40]}, which Spark refuses",
                    "harm",
                    how=f"remove it there; set {who}.memory",
                )
            cpus = len(machine.require_topology().usable_cpus)
            for count in _COUNT.finditer(options):
                if int(count[1]) > cpus:
                    return Problem(
                        f"{key} has {count[0]} on {cpus} usable CPUs",
                        how=f"remove {count[0]} there: hearth's plan sets it for each executor",
                    )
    return Fine(f"no Java option in {_CONF} contradicts the machine")


JAVA = {
    "compact-headers": Rule(
        _compact_headers,
        why="Compiled code may then write into the wrong bytes: String.getBytes() gives wrong "
        "bytes, and nothing fails.",
        reads=_ANYWHERE,
        better="headers as they are by default, or a Java whose release notes name JDK-8380060",
        source="OpenJDK: JDK-8380060, JEP 519",
        how="remove -XX:+UseCompactObjectHeaders from where you set it",
    ),
    "java-option-variables": Rule(
        _java_option_variables,
        why="Every JVM reads these variables, executors too: what they set fights the plan.",
        reads="the environment",
        better="options for each application, which hearth's plan honours",
        source="Oracle: java command, JDK_JAVA_OPTIONS; JVM tool interface, JAVA_TOOL_OPTIONS",
        touches="other Java programs that rely on the variable",
    ),
    "java-options-against-plan": Rule(
        _java_options_against_plan,
        why="Threads of the collector and compilers are counted from an executor's own CPUs; a "
        "fixed number is not.",
        reads=_CONF,
        better="numbers that the plan derives",
        source="Spark: configuration, extraJavaOptions; JVM: HotSpot ergonomics",
    ),
}
