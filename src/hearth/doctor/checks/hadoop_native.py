"""Reading the blocks of HDFS that lie on this machine as files, past the DataNode, needs Hadoop's
native library; without it they come through a socket, as those of other machines.
"""

import re

from hearth.doctor.check import Check, Fine, Machine, Outcome, Problem

_KEY = "dfs.client.read.shortcircuit"
_FILE = "hdfs-site.xml"
_VALUE = re.compile(
    rf"<name>\s*{re.escape(_KEY)}\s*</name>\s*<value>\s*(\w{{1,9}})\s*</value>", re.ASCII
)
_NAME = "libhadoop.so"
#: Where a JVM looks in any case, and what is added to it.
_ALWAYS = ("/usr/java/packages/lib", "/usr/lib64", "/lib64", "/lib", "/usr/lib")
_ADDED = ("spark.executor.extraLibraryPath", "spark.driver.extraLibraryPath")


def _look(machine: Machine) -> Outcome:
    own = machine.the_own()
    asked, where = own.settings.get(f"spark.hadoop.{_KEY}", ""), "spark-defaults.conf"
    folder = own.environment.get("HADOOP_CONF_DIR", "").strip("/")
    if not asked and folder and machine.tree.has(f"{folder}/{_FILE}"):
        where = f"/{folder}/{_FILE}"
        found = _VALUE.findall(machine.tree.text(f"{folder}/{_FILE}", 1 << 20))
        asked = found[-1] if found else ""
    if asked.lower() != "true":
        return Fine("no short-circuit reads of HDFS are asked for")
    named = [own.environment.get("LD_LIBRARY_PATH", ""), *(own.settings.get(k, "") for k in _ADDED)]
    paths = [*":".join(named).split(":"), *_ALWAYS]
    for path in filter(None, paths):
        if machine.tree.has(f"{path.strip('/')}/{_NAME}"):
            return Fine(f"{_NAME} is in {path}")
    return Problem(
        f"{_KEY} is on, and there is no {_NAME} where Java looks",
        where,
        command="export LD_LIBRARY_PATH=$HADOOP_HOME/lib/native; 'hadoop checknative' tells "
        "whether it can be loaded",
    )


CHECK = Check(
    _look,
    group="spark",
    better=f"{_NAME} of the same Hadoop in LD_LIBRARY_PATH, or short-circuit reads off",
    source="Hadoop: HDFS short-circuit local reads, native libraries guide; Spark: configuration, "
    "extraLibraryPath",
    touches="other programs that load Hadoop's library",
)
