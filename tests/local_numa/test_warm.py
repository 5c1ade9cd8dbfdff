"""`hearth submit --warm`: one Spark for many programs, and what each of them can count on."""

import json
import os
import signal
import subprocess
import textwrap
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.base.errors import UserError
from hearth.base.processes import is_alive
from hearth.cli.options import read_line
from hearth.spark import warm
from hearth.spark.conf import read_settings
from support import Command, command, environment, eventually
from support import hearth as run_hearth

WORDS = ("submit", "--warm", "--master", "local-numa[2x1]", "--memory", "600m")
START = "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()\n"
#: Tells in which process a task runs, and goes on for minutes.
LONG = """
from pyspark.sql.functions import udf, col
@udf("long")
def wait(x):
    import os, time
    open(TOLD, "w").write(str(os.getpid()))
    time.sleep(200)
spark.range(0, 1, 1, 1).select(wait(col("id"))).collect()
"""


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Place:
    """A folder of programs, and the state in which their server is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state = folder, folder / "state"

    def program(self, text: str) -> str:
        (self.folder / "job.py").write_text(START + textwrap.dedent(text))
        return "job.py"

    def begin(self, text: str, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command(*WORDS, *words, self.program(text)), cwd=self.folder,
            env=environment(self.state), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=_heed_ctrl_c,  # noqa: PLW1509
        )  # fmt: skip

    def run(self, text: str, *words: str, code: int = 0) -> str:
        done = run_hearth(self.state, *WORDS, *words, self.program(text))
        assert done.returncode == code, done.stderr
        return done.stdout

    def long_task(self) -> "tuple[subprocess.Popen[str], int]":
        """A program whose task runs, and the process of that."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        client = self.begin(LONG.replace("TOLD", repr(str(told))))
        eventually("a task runs", lambda: (told.is_file() and told.read_text()) or client.poll())
        return client, int(told.read_text())

    def server(self) -> warm.WarmServer:
        (found,) = self.servers()
        return found

    def servers(self) -> list[warm.WarmServer]:
        files = (self.state / "warm").glob("*/server.json")
        return [one for one in (warm.read(file.parent) for file in files) if one]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("warm"))
    yield place
    for server in place.servers():
        warm.stop(server)


@pytest.mark.spark
def test_two_programs_that_start_at_once_share_a_server_and_nothing_else(place: Place) -> None:
    text = """
    import sys, beside
    from pyspark.sql.functions import udf, col
    square = udf(lambda x: x * x * beside.FACTOR, "long")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.range(7).createOrReplaceTempView("mine")
    spark.range(1000).cache().count()
    print([row[0] for row in spark.range(4).select(square(col("id"))).collect()])
    sys.exit(3)
    """
    (place.folder / "beside.py").write_text("FACTOR = 1")
    both = [place.begin(text), place.begin(text)]
    for client in both:
        output, errors = client.communicate(timeout=300)
        assert (output, client.returncode) == ("[0, 1, 4, 9]\n", 3), errors
    first = place.server()
    (place.folder / "beside.py").write_text("FACTOR = 10")
    assert place.run(text, code=3) == "[0, 10, 40, 90]\n"
    seen = place.run("""
    cached = spark.range(1000).storageLevel.useMemory
    print(spark.catalog.listTables(), spark.conf.get("spark.sql.shuffle.partitions") == "3", cached)
    """)
    assert seen == "[] False False\n"
    assert place.server() == first


@pytest.mark.spark
def test_what_a_program_sets_too_late_is_named_without_its_value_and_its_modules_are_found(
    place: Place,
) -> None:
    module = place.folder / "elsewhere" / "far.py"
    module.parent.mkdir(exist_ok=True)
    module.write_text("FAR = 3")
    done = run_hearth(place.state, *WORDS, "--py-files", str(module), place.program("""
    from far import FAR
    spark = SparkSession.builder.master("local[7]").config("spark.my.key", "s3cret").getOrCreate()
    spark = SparkSession.builder.config("spark.executor.cores", "s3cret").getOrCreate()
    print(spark.range(FAR).count())
    spark.stop()
    spark = SparkSession.builder.getOrCreate()
    print(spark.range(4).count(), flush=True)
    spark.sparkContext
    """))  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "3\n4\n")
    assert "master local[7], set in the program, has no effect" in done.stderr
    assert "--conf spark.executor.cores=..." in done.stderr and "s3cret" not in done.stderr
    assert "--warm runs programs on the DataFrame API only" in done.stderr


@pytest.mark.spark
@pytest.mark.parametrize("how, code", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_program_that_is_ended_takes_its_tasks_with_it_and_leaves_the_server(
    place: Place, how: signal.Signals, code: int
) -> None:
    client, task = place.long_task()
    server = place.server()
    client.send_signal(how)
    client.communicate(timeout=60)
    assert client.returncode == code
    eventually("its task is gone", lambda: not Path(f"/proc/{task}").exists())
    clients = place.state / "warm" / server.id / "clients"
    eventually("its place is free", lambda: not list(clients.iterdir()))
    assert place.run("print(spark.range(5).count())") == "5\n"
    assert place.server() == server


#: As another user: reads the token, then asks the server for Spark's version without and with one.
def _as_nobody(server: warm.WarmServer, folder: Path, answer: int) -> None:
    import grpc
    from pyspark.sql.connect.proto import AnalyzePlanRequest
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    said = []
    try:
        (folder / "server.json").read_text()
    except PermissionError:
        said.append("unreadable")
    stub = SparkConnectServiceStub(grpc.insecure_channel(f"127.0.0.1:{server.port}"))
    request = AnalyzePlanRequest(session_id="00112233-4455-6677-8899-aabbccddeeff")
    request.user_context.user_id = "nobody"
    request.spark_version.SetInParent()
    for token in ("", "guessed", server.token):
        try:
            metadata = (("authorization", f"Bearer {token}"),) if token else ()
            said.append(stub.AnalyzePlan(request, metadata=metadata).spark_version.version[0])
        except grpc.RpcError as error:
            said.append(error.code().name)
    os.write(answer, " ".join(said).encode())


@pytest.mark.spark
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_can_neither_read_the_token_nor_use_the_server_without_it(
    place: Place,
) -> None:
    place.run("")
    server = place.server()
    folder = place.state / "warm" / server.id
    modes = {file.name: file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())}
    assert {mode for name, mode in modes.items() if name not in (folder.name, "clients")} == {0o600}
    assert modes[folder.name] == modes["clients"] == 0o700
    rows = Path(f"/proc/{server.pid}/net/tcp6").read_text() + Path("/proc/net/tcp").read_text()
    bound = [row.split()[1] for row in rows.splitlines() if f":{server.port:04X} " in row
             and row.split()[3] == "0A"]  # fmt: skip
    assert bound and all(address.startswith(("0100007F", "0" * 16 + "FFFF00000100007F"))
                         for address in bound)  # fmt: skip
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _as_nobody(server, folder, writing)
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert os.read(reading, 1000).decode() == "unreadable UNAUTHENTICATED UNAUTHENTICATED 4"


@pytest.mark.spark
def test_a_server_goes_with_its_keeper_and_the_next_program_starts_another(place: Place) -> None:
    place.run("")
    server = place.server()
    os.kill(server.keeper, signal.SIGKILL)
    eventually("the server is gone", lambda: not is_alive(server.pid, server.start_ticks))
    assert place.run("print(spark.range(6).count())") == "6\n"
    assert place.server().pid != server.pid


@pytest.mark.spark
def test_a_killed_server_fails_its_program_soon_and_the_next_one_ends_when_idle(
    place: Place,
) -> None:
    client, _ = place.long_task()
    server = place.server()
    os.kill(server.pid, signal.SIGKILL)
    client.communicate(timeout=100)
    assert client.returncode == 1
    assert place.run("print(spark.range(8).count())", "--conf", "spark.hearth.warm.idle=20s")
    last, leases = place.server(), run_hearth(place.state, "status", "--leases").stdout
    assert last.pid != server.pid and str(last.pid) in leases
    shown = json.loads(run_hearth(place.state, "status", "--json").stdout)["warm"]
    assert [(one["id"], one["programs"], one["idle_s"]) for one in shown] == [(last.id, 0, 20.0)]
    eventually("it has ended", lambda: not is_alive(last.keeper, last.keeper_ticks))
    assert not is_alive(last.pid, last.start_ticks)
    assert str(last.pid) not in run_hearth(place.state, "status", "--leases").stdout


@pytest.mark.spark
def test_a_notebook_gets_a_session_of_the_server_and_status_stops_that(place: Place) -> None:
    text = """
    import hearth
    spark = hearth.session(warm=True, master="local-numa[2x1]", conf={"spark.executor.memory": "600m"})
    print(spark.range(9).count())
    """  # noqa: E501
    done = subprocess.run(
        [command()[0], "-c", textwrap.dedent(text)], cwd=place.folder, capture_output=True,
        env=environment(place.state), text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "9\n"), done.stderr
    for server in place.servers():
        stopped = run_hearth(place.state, "status", "--stop", server.id)
        assert f"warm server {server.id} is stopped" in stopped.stdout
        assert not is_alive(server.pid, server.start_ticks)
    assert "no warm server is running" in run_hearth(place.state, "status", "--stop").stdout


@pytest.mark.command
@pytest.mark.parametrize(
    "words, because",
    [
        (["job.jar"], "'job.jar' is not a Python program"),
        (["--class", "a.B", "job.py"], "is not a Python program"),
        (["--master", "local[2]", "job.py"], "the master is local[2], and hearth starts warm"),
        (["--conf", "spark.hearth.warm.idle=soon", "job.py"], "'soon' is not a duration"),
        (["missing.py"], "no such file in"),
    ],
)
def test_what_cannot_run_warm_is_refused_in_one_line(
    hearth: Command, words: list[str], because: str
) -> None:
    done = hearth("submit", "--warm", *words)
    assert done.returncode == 2 and because in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_server_is_for_all_that_is_fixed_when_it_starts_and_for_nothing_else() -> None:
    def named(*words: str, folder: str = "/jobs", **variables: str) -> dict[str, str]:
        line = read_line([*words, "job.py", "an argument"])
        given = {"PATH": os.environ["PATH"], **variables}
        return warm.identity(warm.server_line(line), read_settings(line), given, folder)

    same = named()
    assert named("--name", "x", "--py-files", "a.py", "--conf", "spark.hearth.warm.idle=9s") == same
    assert named(TERM="vt100", SPARK_CONNECT_AUTHENTICATE_TOKEN="of an earlier one") == same
    for other in (
        named("--conf", "spark.sql.ansi.enabled=false"), named("--executors", "2"),
        named("--driver-memory", "2g"), named("--jars", "a.jar"), named(folder="/elsewhere"),
        named(AWS_PROFILE="b"), named(PYSPARK_PYTHON="/usr/bin/python3"),
    ):  # fmt: skip
        assert other != same


def test_a_record_of_another_boot_or_of_no_sense_is_no_server(tmp_path: Path) -> None:
    assert warm.read(tmp_path) is None
    (tmp_path / "server.json").write_text("{")
    assert warm.read(tmp_path) is None
    ended = warm.WarmServer(
        "hearth/warm/1", "a", os.getpid(), 1, os.getpid(), 1, 1, "t", str(time.time()), 1.0, {}
    )
    warm.write(tmp_path, ended)
    assert warm.read(tmp_path) is None


def test_a_spark_whose_server_would_let_anybody_in_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm.paths, "spark_home", lambda: tmp_path)
    (tmp_path / "jars").mkdir()
    with zipfile.ZipFile(tmp_path / "jars" / "spark-connect_2.13-4.0.0.jar", "w") as jar:
        jar.writestr("org/apache/spark/sql/connect/service/SparkConnectServer.class", b"")
    with pytest.raises(UserError, match=r"no spark-connect_2.13-\*.jar that asks for a token"):
        warm.check_connect()


def test_what_servers_left_behind_goes_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    old, new = (tmp_path / "warm" / name for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    warm.sweep(before=2)
    assert not old.exists() and new.exists()
