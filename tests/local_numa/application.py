"""A real Spark under local-numa, in a directory of its own, and what it leaves behind."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.machine.paths import hearth_jar, spark_home, wire_jar
from support import PATIENCE_S, command, confs, driver_settings, environment, eventually

APPS = Path(__file__).parent / "apps"
BIN = Path(sys.executable).parent


@dataclass
class Site:
    """Where one test's applications run: everything that they write lies under `root`."""

    root: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    spark_home: Path | None = None  # another than the installed pyspark

    @property
    def environment(self) -> dict[str, str]:
        more = {"PYSPARK_PYTHON": sys.executable, "PATH": f"{BIN}:{os.environ['PATH']}"}
        if self.spark_home:
            more["SPARK_HOME"] = str(self.spark_home)
        return environment(self.root / "state", **more)

    @property
    def settings(self) -> dict[str, str]:
        jar = hearth_jar()
        return {
            "spark.jars": str(jar),
            **driver_settings(
                self.spark_home or spark_home(), jar, f"-Djava.io.tmpdir={self.root / 'tmp'}"
            ),
            "spark.local.dir": str(self.root / "local"),
            "spark.ui.enabled": "false",
            "spark.hearth.neighbours": "ignore",
            "spark.hearth.handOver": "off",  # each in its place, whoever is quicker
            "spark.sql.warehouse.dir": str(self.root / "warehouse"),
        }

    def command(self, app: str, *words: str, master: str, conf: dict[str, str | None]) -> list[str]:
        home = self.spark_home / "bin" if self.spark_home else BIN
        program = [str(home / "spark-submit"), "--master", master]
        settings = {
            key: value for key, value in {**self.settings, **conf}.items() if value is not None
        }
        if settings.get("spark.shuffle.manager", "").endswith("WireShuffleManager"):
            settings["spark.jars"] += f",{wire_jar()}"
            settings["spark.driver.extraClassPath"] += f":{wire_jar()}"
        return [*program, *confs(settings), str(APPS / app), *words]

    def start(
        self,
        app: str,
        *words: str,
        master: str = "local-numa[2x1]",
        within: tuple[str, ...] = (),
        **conf: str | None,
    ) -> subprocess.Popen[str]:
        """Starts an application; `within` is a command that is given its command line.

        A setting that is None is left to Spark.
        """
        keys = {key.replace("__", "."): value for key, value in conf.items()}
        return self.launch([*within, *self.command(app, *words, master=master, conf=keys)])

    def launch(
        self, command: list[str], own: dict[str, str] | None = None, stdin: int | None = None
    ) -> subprocess.Popen[str]:
        """Starts a command in a session of its own, with the site's environment or another."""
        for name in ("local", "tmp", "state"):
            (self.root / name).mkdir(exist_ok=True)
        process = subprocess.Popen(
            command,
            env=own or self.environment,
            cwd=self.root,
            text=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=(self.root / "driver.log").open("a"),
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, app: str, *words: str, timeout: float = 480, **options: Any) -> "Outcome":
        process = self.start(app, *words, **options)
        output, _ = process.communicate(timeout=timeout)
        return Outcome(process.returncode, output, self.log)

    def hearth(self, *words: str, timeout: float = 400) -> "Outcome":
        """Runs the command `hearth`, whose errors go to the same log."""
        process = self.launch(command(*words))
        output, _ = process.communicate(timeout=timeout)
        return Outcome(process.returncode, output, self.log)

    @property
    def log(self) -> str:
        return (self.root / "driver.log").read_text()

    def only_run(self) -> Path:
        runs = [path for path in (self.root / "state" / "applications").iterdir() if path.is_dir()]
        assert len(runs) == 1, runs
        return runs[0]

    def document(self, name: str) -> dict:
        return json.loads((self.only_run() / name).read_text())

    def executors(self) -> dict[int, dict[str, str]]:
        """Processes of this site's executors, by id, with the arguments after the main class."""
        executors = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                words = read_words(entry / "cmdline")
                java = Path(words[0]).name == "java" if words else False
                if java and "--executor-id" in words and str(self.root) in "\n".join(words):
                    tail = words[words.index("--driver-url") :]
                    executors[int(entry.name)] = dict(zip(tail[::2], tail[1::2], strict=False))
        return executors

    def leftovers(self) -> list[str]:
        """What is still there of an application that has ended: processes, directories."""
        local = [str(path) for path in (self.root / "local").iterdir()]
        temporary = [str(path) for path in (self.root / "tmp").iterdir() if path.is_dir()]
        processes = [f"executor process {pid}" for pid in self.executors()]
        return sorted(
            processes + local + [t for t in temporary if not t.endswith("/hsperfdata_root")]
        )


@dataclass(frozen=True)
class Outcome:
    code: int
    output: str
    log: str

    @property
    def report(self) -> dict:
        """The one line of JSON that an application prints behind RESULT."""
        lines = [line for line in self.output.splitlines() if line.startswith("RESULT ")]
        assert len(lines) == 1, f"exit {self.code}\n{self.output}\n{self.log[-4000:]}"
        return json.loads(lines[0].removeprefix("RESULT "))


#: Of Spark's log: an error, an exception at the start of a line, or a frame of a trace.
TROUBLE = re.compile(
    r"^\S+ \S+ (?:ERROR|FATAL) .*|^[\w.$]*(?:Exception|Error)\b.*|^\s+at \S+\(.*", re.MULTILINE
)


#: Of Spark Connect's own server: to a prompt's client that sends it the settings it has already,
#: and to a client that ends its session before its own release of a query has come through.
REFUSED_CALL = re.compile(
    r"^\S+ \S+ ERROR ErrorUtils: Spark Connect RPC error during: (?:config|releaseExecute)\b.*\n"
    r"(?:.*(?:CANNOT_MODIFY_STATIC_CONFIG|INVALID_HANDLE).*\n"
    r"|\s+at .*\n|Caused by: .*\n|\s+\.\.\. \d+ more\n)*",
    re.MULTILINE,
)

#: Of Spark's end: a file came into its directory while it was being deleted. Its shutdown hook
#: deletes the directory once more; that nothing stays is looked at after it.
NOT_DELETED = re.compile(
    r"^\S+ \S+ WARN (?:SparkEnv: Exception while deleting Spark temp dir"
    r"|ArtifactManager: Failed to delete directory).*\n"
    r"java\.io\.IOException: Failed to delete: .*\n(?:\s+at .*\n)*",
    re.MULTILINE,
)


#: Of a server that is ended.
ENDED = re.compile(r"^\S+ \S+ ERROR HiveThriftServer2: RECEIVED SIGNAL TERM$", re.MULTILINE)


def assert_no_trouble(site: Site) -> None:
    """No error and no stack trace in the log of a good run: of its driver and of its executors."""
    logs = [site.root / "driver.log", *(site.only_run() / "executors").glob("*/stderr")]
    logs += (site.root / "logs").glob("*.out")  # of a server
    texts = {log.name: _without_known(log.read_text(errors="replace")) for log in logs}
    trouble = {name: TROUBLE.search(text) for name, text in texts.items()}
    assert not any(trouble.values()), {name: hit[0] for name, hit in trouble.items() if hit}


def _without_known(log: str) -> str:
    return ENDED.sub("", NOT_DELETED.sub("", REFUSED_CALL.sub("", log)))


def assert_shuffle_read_from_files(report: dict[str, Any]) -> None:
    """shuffle.py's report: right sums, no block through the network, before and after a loss."""
    assert report["right"]
    assert report["executors"] == 2
    for read in (report["before"], report["after"]):
        assert read["shuffleRemoteBytesRead"] == 0
        assert read["shuffleLocalBytesRead"] > 0


def ui_rows(page: str) -> list[list[str]]:
    """The cells of each row of the tables of a page of Spark's UI."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows if "<td>" in row]


def read_words(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def end_all(site: Site) -> None:
    """Ends what a test has left running."""
    for process in site.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)
    for pid in site.executors():
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def taken_ports(count: int) -> Iterator[list[int]]:
    """Ports on which somebody else listens, at every address of this machine."""
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("0.0.0.0", 0))
            listener.listen()
        yield [listener.getsockname()[1] for listener in listeners]


def compiled(folder: Path, name: str) -> Path:
    """The jar of a Java source of apps/."""
    classes, jar = folder / f"{name}-classes", folder / f"{name.lower()}.jar"
    for words in (
        ["javac", "-proc:none", "-cp", f"{spark_home()}/jars/*", "-d", str(classes)],
        ["jar", "--create", "--file", str(jar), "-C", str(classes), "."],
    ):
        source = [str(APPS / f"{name}.java")] if words[0] == "javac" else []
        subprocess.run([*words, *source], check=True, timeout=300)
    return jar


def assert_abandoned(site: Site) -> None:
    """After its driver has been killed: nobody and nothing of the application is left."""
    eventually("executors gone", lambda: site.executors() == {})
    eventually("nothing left behind", lambda: site.leftovers() == [])
    eventually("the run marked", lambda: site.document("run.json")["state"] == "abandoned")


def beyond(site: Site) -> str:
    """A plan with a CPU that no machine here has."""
    return planned(site, ["4000"], task_slots=1)


def planned(site: Site, cpus: list[str], task_slots: int) -> str:
    """The file of a plan with an executor on each of some CPUs."""
    executors = [
        {
            "id": number,
            "cpus": each,
            "memory_nodes": "0",
            "task_slots": task_slots,
            "heap_mb": 600,
            "off_heap_mb": 0,
            "overhead_mb": 384,
            "java_options": [],
            "host": f"127.78.200.{number + 1}",
        }
        for number, each in enumerate(cpus)
    ]
    driver = {"cpus": "0", "memory_nodes": "0", "bound": False, "heap_mb": 512, "overhead_mb": 384}
    plan = {"schema": "hearth/plan/2", "mode": "partitioned", "driver": driver}
    plan |= {"master": f"local-numa[{len(cpus)}x{task_slots}]", "executors": executors}
    file = site.root / "plan.json"
    file.write_text(json.dumps({**plan, "conf": {}, "reasons": []}))
    return str(file)
