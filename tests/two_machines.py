"""Two machines, which are network namespaces of this one, `big1` and `big2`, joined by a bridge.

They share the disk, the CPUs and the memory; each has its own network, name, processes, state and
leases. What runs there ends with `two_machines`. Needs root.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from hearth.base.processes import children
from hearth.machine.paths import spark_home

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
URL = "spark://big1:7077"
#: Of a machine, also by a name for each of its places.
_NAMES = "127.0.0.1 localhost\n" + "".join(f"10.9.0.{n} big{n} big{n}a big{n}b\n" for n in (1, 2))
#: What leads a command to another Spark or another master than is meant here.
_ELSEWHERE = {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_DIRS", "MASTER", "COLUMNS"}


@dataclass
class Machine:
    """One of them. `init` is its first process."""

    name: str
    folder: Path
    init: int
    #: further environment variables of all its programs
    own: dict[str, str] = field(default_factory=dict)

    def words(self, *words: str) -> list[str]:
        """Return a command line that runs there."""
        return ["nsenter", "-t", str(self.init), "-n", "-u", "-m", "-p", *words]

    def variables(self, more: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        places = {
            "HEARTH_STATE": str(self.folder / "state"),
            "HEARTH_LEASES": str(self.folder / "leases"),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        sizes = {"SPARK_DAEMON_MEMORY": "300m", "PYSPARK_PYTHON": sys.executable, "NO_COLOR": "1"}
        return {**inherited, **places, **sizes, **self.own, **more}

    def hearth(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Return what `hearth` answers there; more: environment variables."""
        program = str(Path(sys.executable).with_name("hearth"))
        return subprocess.run(
            self.words(sys.executable, program, *words), env=self.variables(more), cwd=self.folder,
            capture_output=True, text=True, timeout=400, check=False,
        )  # fmt: skip

    def begin(self, log: str, *words: str, **more: str) -> "subprocess.Popen[bytes]":
        """Start a program there, whose output goes to the file `log`."""
        with (self.folder / log).open("wb") as output:
            return subprocess.Popen(
                self.words(*words), env=self.variables(more), cwd=self.folder,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def spark(self, program: str) -> str:
        return str(spark_home() / "bin" / program)

    def master(self, **settings: str) -> "subprocess.Popen[bytes]":
        """Start a master of a standalone cluster, with these settings of Spark's."""
        options = " ".join(f"-D{key}={value}" for key, value in settings.items())
        where = ["--host", self.name, "--port", "7077", "--webui-port", "8080"]
        words = [self.spark("spark-class"), MASTER, *where]
        return self.begin("master.log", *words, SPARK_MASTER_OPTS=options)

    def submit(self, url: str, *words: str, **more: str) -> "subprocess.Popen[bytes]":
        """Start an application whose driver runs there."""
        own = ["--conf", f"spark.driver.host={self.name}", "--conf", "spark.ui.enabled=false"]
        program = self.spark("spark-submit")
        return self.begin("app.log", program, "--master", url, *own, *words, **more)

    def said(self, log: str = "app.log") -> str:
        return (self.folder / log).read_text(errors="replace")

    def page(self) -> dict[str, Any]:
        """Return what the master there says of itself; nothing while there is none."""
        read = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"
        words = self.words(sys.executable, "-c", read, f"http://{self.name}:8080/json/")
        answer = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        document: dict[str, Any] = json.loads(answer) if answer else {}
        return document

    def leads(self, workers: int) -> bool:
        """Whether the master there leads, and so many Workers are alive."""
        page = self.page()
        alive = [each for each in page.get("workers", []) if each["state"] == "ALIVE"]
        return page.get("status") == "ALIVE" and len(alive) == workers

    def processes(self) -> dict[int, str]:
        """Return the command line of each process there, by the id that it has there."""
        words = self.words("ps", "-e", "-ww", "-o", "pid=,args=")
        listed = subprocess.check_output(words, text=True)
        pairs = (line.split(None, 1) for line in listed.splitlines())
        return {int(pid): args for pid, args in pairs}

    def running(self, program: str) -> list[int]:
        """Return the processes there whose command line has this text."""
        return [pid for pid, args in self.processes().items() if program in args]

    def kill(self, pid: int) -> None:
        subprocess.run(self.words("kill", "-9", str(pid)), check=True)

    def vanish(self) -> None:
        """Cut its network, so that nobody hears of it any more, and end all that runs there."""
        subprocess.run(self.words("ip", "link", "set", "eth0", "down"), check=True)
        os.kill(self.init, 9)


def why_not() -> str | None:
    """Return why there can be no such machines here."""
    tried = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return (
        f"no network namespace with a bridge: {tried.stderr.strip()}" if tried.returncode else None
    )


@contextmanager
def two_machines(root: Path) -> Iterator[tuple[Machine, Machine]]:
    """Everything that they write lies below `root`."""
    with ExitStack() as ends:
        up = root / "wire"
        made = f"ip link add br0 type bridge && ip link set br0 up && touch {up}"
        wire = _namespace(ends, "--net", "sh", "-c", f"{made} && exec sleep 100000")
        _until(up.exists)
        yield _machine(ends, root, 1, wire), _machine(ends, root, 2, wire)


def _namespace(ends: ExitStack, *words: str) -> int:
    """Start `unshare` with these words; return its process id."""
    started = subprocess.Popen(["unshare", *words], start_new_session=True)

    def end() -> None:
        started.kill()
        started.wait()

    ends.callback(end)
    return started.pid


def _until(there: Any) -> None:
    until = monotonic() + 20
    while not there():
        if monotonic() > until:
            raise TimeoutError("a namespace is not up after 20 s")
        sleep(0.05)


def _machine(ends: ExitStack, root: Path, number: int, wire: int) -> Machine:
    name = f"big{number}"
    folder = root / name
    for part in ("leases", "local"):
        (folder / part).mkdir(parents=True, mode=0o700)
    (folder / "hosts").write_text(_NAMES)
    own = ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    become = f"hostname {name} && mount --bind {folder}/hosts /etc/hosts && touch {folder}/up && "
    # The shell is process 1: while it waits, it reaps orphans.
    outer = _namespace(ends, *own, "sh", "-c", f"{become} sleep 100000; exit")
    _until((folder / "up").exists)
    (init,) = children(outer)
    made = Machine(name, folder, init)
    link = ["ip", "link", "add", f"to{number}", "type", "veth", "peer", "name", "eth0"]
    of_wire = ["nsenter", "-t", str(wire), "-n"]
    for words in (
        [*of_wire, *link, "netns", str(init)],
        [*of_wire, "ip", "link", "set", f"to{number}", "master", "br0", "up"],
        made.words("ip", "addr", "add", f"10.9.0.{number}/24", "dev", "eth0"),
        made.words("ip", "link", "set", "eth0", "up"),
        made.words("ip", "link", "set", "lo", "up"),
    ):
        subprocess.run(words, check=True)
    return made
