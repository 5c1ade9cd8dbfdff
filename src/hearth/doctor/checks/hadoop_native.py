"""Reading the blocks of HDFS that lie on this machine as files, past the DataNode, needs Hadoop's
native library; without it they come through a socket, as those of other machines.
"""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem
from hearth.doctor.java import Who, has_executors, named_by, variable_of

_KEY = "dfs.client.read.shortcircuit"
_FILE = "hdfs-site.xml"
_VALUE = re.compile(
    rf"<name>\s*{re.escape(_KEY)}\s*</name>\s*<value>\s*(\w{{1,9}})\s*</value>", re.ASCII
)
_NAME = "libhadoop.so"
#: Where Java looks without an option, behind the variable; the last on Debian.
_ALWAYS = "/usr/java/packages/lib:/usr/lib64:/lib64:/lib:/usr/lib:/usr/lib/jni"
_TELLS = "'hadoop checknative' tells whether it can be loaded"
_OPTION, _VARIABLE = ".".join(("java", "library", "path")), "LD_LIBRARY_PATH"


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    asked, where = own.settings.get(f"spark.hadoop.{_KEY}", ""), "spark-defaults.conf"
    folder = own.environment.get("HADOOP_CONF_DIR", "").strip("/")
    if not asked and folder and machine.tree.has(f"{folder}/{_FILE}"):
        where = f"/{folder}/{_FILE}"
        text = machine.tree.data(f"{folder}/{_FILE}", 1 << 20).decode(errors="replace")
        found = _VALUE.findall(text)
        asked = found[-1] if found else ""
    if asked.lower() != "true":
        return Fine("no short-circuit reads of HDFS are asked for")
    who: Who = "executor" if has_executors(machine) else "driver"
    option = named_by(machine, who, _OPTION)
    for path in filter(None, (_usual(machine, who) if option is None else option).split(":")):
        if machine.tree.has(f"{path.strip('/')}/{_NAME}"):
            return Fine(f"{_NAME} is in {path}")
    jvm = "executors look" if who == "executor" else "the driver looks"
    return Problem(
        f"{_KEY} is on, and there is no {_NAME} where {jvm}",
        where if option is None else f"{where}, and the option -D{_OPTION}",
        command=_command(machine, who, option),
    )


def _usual(machine: Machine, who: Who) -> str:
    """Return where a JVM looks without an option that says so."""
    own = machine.the_own()
    added = own.settings.get(f"spark.{who}.extraLibraryPath", "")
    inherited = own.environment.get(_VARIABLE, "") if added else ""
    return f"{added}:{variable_of(machine, who, _VARIABLE)}:{inherited}:{_ALWAYS}"


def _command(machine: Machine, who: Who, option: str | None) -> str:
    """Return what adds a folder to those that are there."""
    setting = f"spark.{who}Env.{_VARIABLE}"
    if option is not None or setting in machine.the_own().settings:
        what = setting if option is None else f"-D{_OPTION}"
        return f"add $HADOOP_HOME/lib/native to {what}; {_TELLS}"
    more = f"${{{_VARIABLE}:+:${_VARIABLE}}}"
    return f"export {_VARIABLE}=$HADOOP_HOME/lib/native{more}; {_TELLS}"


CHECK = Check(
    _look,
    group="spark",
    better=f"{_NAME} of the same Hadoop in LD_LIBRARY_PATH, or short-circuit reads off",
    source="Hadoop: HDFS short-circuit local reads, native libraries guide; Spark: configuration, "
    "extraLibraryPath",
    touches="other programs that load Hadoop's library",
)
