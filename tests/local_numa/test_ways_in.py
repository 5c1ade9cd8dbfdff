"""Every way into local-numa that docs/running.md documents, typed as it stands there."""

import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from application import Outcome, Site, assert_no_trouble, compiled

from hearth.machine.paths import hearth_jar, spark_home
from support import PATIENCE_S, ROOT, driver_settings, eventually, require

pytestmark = pytest.mark.spark

CONNECT_PORT = 15002
SQUARES = sum(n * n for n in range(8))

PYTHON_PROMPT = """
class Square:
    def __init__(self, n): self.value = n * n

import beside

def square(n): return Square(n).value * beside.one() * int(open("one.txt").read())

total = spark.sparkContext.parallelize(range(8), 8).map(square).sum()
print("RESULT", '{"sum": %d}' % total)
exit()
"""

SCALA_PROMPT = """
case class Square(n: Int) { def value: Int = n * n }
def squares(of: Int): Seq[Square] = (0 until of).map(Square(_))
def one(): Int = scala.io.Source.fromFile("one.txt").mkString.trim.toInt
val total = sc.parallelize(squares(8), 8).map(_.value * one()).sum.toInt
import spark.implicits._
val named = spark.range(0, 8, 1, 8).as[Long].map(n => Square(n.toInt)).filter(_.value > 0).count
println("\\nRESULT {\\"sum\\": " + total + ", \\"named\\": " + named + "}")
:quit
"""

SCALA_CONNECT_PROMPT = """
case class Square(n: Long) { def value: Long = n * n }
val total = spark.range(0, 8, 1, 8).as[Long].map(Square(_).value).collect.sum
println("\\nRESULT {\\"sum\\": " + total + "}")
exit
"""

CLASSIC_SESSION = """
import beside

def square(n): return n * n * beside.one() * int(open("one.txt").read())

total = spark.sparkContext.parallelize(range(8), 8).map(square).sum()
print("RESULT", '{"sum": %d}' % total)
spark.stop()
"""

CONNECT_SESSION = """
from pyspark.sql.functions import udf
square = udf(lambda n: n * n, "long")
rows = spark.range(0, 8, 1, 8).select(square("id").alias("s")).collect()
plan = spark.range(8).selectExpr("id % 3 AS k").groupBy("k").count()._explain_string()
form = '{"sum": %d, "session": "%s", "partitions": %s}'
shuffled = plan.partition("hashpartitioning(k")[2].partition(", ")[2].partition(")")[0]
print("RESULT", form % (sum(r.s for r in rows), type(spark).__module__, shuffled))
spark.stop()
"""
#: Of a client of Spark Connect; its shuffles are sized by what the query reads, for two slots.
CONNECT_REPORT = {"sum": SQUARES, "session": "pyspark.sql.connect.session", "partitions": 4}


PAGE = (ROOT / "docs" / "running.md").read_text()


def documented(what: str, language: str = "sh") -> str:
    """The code of a section of docs/running.md, or the line at its head whose comment says this."""
    lines = re.findall(rf"^(.*)  # {what}$", PAGE, re.MULTILINE)
    (code,) = lines if lines else blocks(what, language)
    return code


def blocks(section: str, language: str = "sh") -> list[str]:
    """Each block of code of a section."""
    text = PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def with_defaults(site: Site) -> dict[str, str]:
    """A machine's defaults: everything that is written stays in the test's own directory."""
    for name in ("local", "tmp", "state", "conf", "logs"):
        (site.root / name).mkdir(exist_ok=True)
    defaults = {
        "spark.local.dir": site.root / "local",
        "spark.sql.warehouse.dir": site.root / "warehouse",
        # Of plain Spark: hearth's jar comes in as the page says.
        **driver_settings(spark_home(), None, f"-Djava.io.tmpdir={site.root / 'tmp'}"),
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "200s",
        "spark.ui.enabled": "false",
    }
    # What a program has beside it, and opens in its tasks by a relative path.
    (site.root / "beside.py").write_text("def one():\n    return 1\n")
    (site.root / "one.txt").write_text("1\n")
    lines = "".join(f"{key} {value}\n" for key, value in defaults.items())
    (site.root / "conf" / "spark-defaults.conf").write_text(lines)
    return {
        **site.environment,
        "SPARK_CONF_DIR": str(site.root / "conf"),
        "SPARK_LOG_DIR": str(site.root / "logs"),
        "SPARK_PID_DIR": str(site.root / "logs"),
        "TMPDIR": str(site.root / "tmp"),
    }


def typed(site: Site, command: list[str], text: str = "", timeout: float = 400) -> Outcome:
    """Runs a command with `text` at its prompt, as `hearth` itself is found: on the path."""
    process = begun(site, command)
    output, _ = process.communicate(text, timeout=timeout)
    return Outcome(process.returncode, output, site.log)


def begun(site: Site, command: list[str]) -> subprocess.Popen[str]:
    """Starts the same."""
    return site.launch(command, with_defaults(site), subprocess.PIPE)


def shell(site: Site, section: str, text: str = "") -> Outcome:
    return typed(site, ["bash", "-euc", documented(section)], text)


def terminal(site: Site, section: str, text: str) -> Outcome:
    """The same at a terminal, without which Python is no prompt.

    The terminal stays until the JVM, which outlives its prompt for a moment, has let go of its log:
    a terminal that closes ends the `rm` by which Spark deletes its directories (SIGHUP).
    """
    if shutil.which("script") is None:
        require("terminal", "there is no `script` (Debian: bsdutils)")
    (site.root / "command.sh").write_text(documented(section))
    (site.root / "terminal.sh").write_text(
        "bash -eu command.sh 2> >(cat >> driver.log)\ncode=$?\nwait $!\nexit $code\n"
    )
    command = ["script", "-qefc", "bash terminal.sh", "/dev/null"]
    outcome = typed(site, command, text)
    # What was typed is echoed; a result stands at the beginning of a line.
    return Outcome(outcome.code, outcome.output.replace("\r", ""), outcome.log)


def program(site: Site, source: str) -> Outcome:
    (site.root / "program.py").write_text(source)
    return typed(site, [sys.executable, "program.py"])


def without_what_hive_leaves(site: Site) -> None:
    """Under any master: empty directories for a session's files, and for a user's."""
    temporary = site.root / "tmp"
    for left in (*temporary.glob("*_resources"), temporary / pwd.getpwuid(os.getuid()).pw_name):
        if left.is_dir():
            left.rmdir()


def executors_at_work(site: Site) -> set[str]:
    """Executors that have finished tasks, by their own logs."""
    logs = (site.only_run() / "executors").glob("*/stderr")
    return {log.parent.name for log in logs if "Finished task" in log.read_text()}


def assert_both_worked_and_nothing_is_left(site: Site, outcome: Outcome) -> None:
    assert outcome.code == 0, f"{outcome.output}\n{outcome.log[-4000:]}"
    assert executors_at_work(site) == {"0", "1"}
    assert site.document("run.json")["state"] == "finished"
    assert site.document("run.json")["master"] == "local-numa[2x1]"
    assert_no_trouble(site)
    # A prompt of Python's is gone a moment before its JVM.
    eventually("nothing left behind", lambda: site.leftovers() == [])


def needs_connect() -> None:
    """The Python client of Spark Connect, and its port, which Spark fixes."""
    missing = [name for name in ("grpc", "pandas", "pyarrow") if not importlib.util.find_spec(name)]
    if missing:
        require("connect", f"{', '.join(missing)} missing: pip install 'pyspark[connect]'")
    eventually(f"port {CONNECT_PORT} free", lambda: not listening(CONNECT_PORT))


def listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_hearth_jar_prints_the_one_jar_that_is_needed(hearth):
    assert hearth("jar").stdout == f"{hearth_jar()}\n"
    with zipfile.ZipFile(hearth_jar()) as jar:
        service = "META-INF/services/org.apache.spark.scheduler.ExternalClusterManager"
        assert b"LocalNumaClusterManager" in jar.read(service)


def test_a_program_in_a_jar(site: Site, tmp_path: Path):
    compiled(tmp_path, "Tiny")
    outcome = shell(site, "a program in a jar")
    assert outcome.report == {"sum": SQUARES}
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_python_prompt_whose_classes_reach_the_executors(site: Site):
    outcome = terminal(site, "a Python prompt", PYTHON_PROMPT)
    assert outcome.report == {"sum": SQUARES}
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_scala_prompt_whose_classes_reach_the_executors(site: Site):
    outcome = shell(site, "a Scala prompt", SCALA_PROMPT)
    assert outcome.report == {"sum": SQUARES, "named": 7}
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_query(site: Site):
    outcome = shell(site, "a query")
    assert outcome.output.split() == ["499500"]
    without_what_hive_leaves(site)
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_notebook_of_plain_python(site: Site):
    outcome = program(site, documented("A notebook", "python") + CLASSIC_SESSION)
    assert outcome.report == {"sum": SQUARES}
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_spark_connect_server_and_a_client_that_knows_nothing_of_hearth(site: Site):
    needs_connect()
    section = "A Spark Connect server"
    started = shell(site, section)
    try:
        assert started.code == 0, started.log
        eventually("the server listens", lambda: listening(CONNECT_PORT), 200)
        outcome = program(site, documented(section, "python") + CONNECT_SESSION)
        assert outcome.report == CONNECT_REPORT
    finally:
        typed(site, [str(spark_home() / "sbin" / "stop-connect-server.sh")])
        end_server(site)
    eventually("no executor", lambda: site.executors() == {})
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_thrift_server_and_a_client_that_knows_nothing_of_hearth(site: Site):
    serve, ask = blocks("The Thrift server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    last = f"spark-internal --hiveconf hive.server2.thrift.port={port}"
    server = begun(site, ["bash", "-euc", serve.replace("spark-internal", last)])
    ask = ask.replace(":10000", f":{port}")
    try:
        eventually("it listens", lambda: server.poll() is not None or listening(port), 200)
        assert server.poll() is None, (site.root / "driver.log").read_text()[-4000:]
        groups = "EXPLAIN SELECT id % 3 AS g, count(*) FROM range(1000) GROUP BY 1"
        outcome = typed(site, ["bash", "-euc", f"{ask.rstrip()} -e '{groups}'"])
        assert "| 1000 " in outcome.output, outcome.log
        shuffled = re.search(r"hashpartitioning\(.*?, (\d+)\)", outcome.output)
        assert shuffled and int(shuffled[1]) < 200, "a query's shuffles are sized there too"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(PATIENCE_S)
    without_what_hive_leaves(site)
    assert_both_worked_and_nothing_is_left(site, outcome)


def end_server(site: Site) -> None:
    """Waits for the server to stop by itself; it is ended when it does not."""
    runs = list(site.root.glob("state/applications/*"))
    pid = site.document("run.json")["driver_pid"] if runs else None
    try:
        eventually("the server has stopped", lambda: not Path(f"/proc/{pid}").exists())
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        raise


def test_spark_connect_in_one_process(site: Site):
    needs_connect()
    source = documented("Spark Connect in one process", "python") + CONNECT_SESSION
    outcome = program(site, source)
    assert outcome.report == CONNECT_REPORT
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_spark_connect_prompt(site: Site):
    needs_connect()
    outcome = terminal(site, "a Spark Connect prompt", CONNECT_SESSION + "exit()\n")
    assert outcome.report == CONNECT_REPORT
    assert_both_worked_and_nothing_is_left(site, outcome)


def test_a_spark_connect_prompt_in_scala_whose_classes_reach_the_executors(site: Site):
    """Its client waits for the server at growing intervals, two minutes in all."""
    if os.environ.get("HEARTH_VERSIONS") != "all":
        pytest.skip("make test-versions runs it")
    eventually(f"port {CONNECT_PORT} free", lambda: not listening(CONNECT_PORT))
    outcome = terminal(site, "a Spark Connect prompt in Scala", SCALA_CONNECT_PROMPT)
    assert outcome.report == {"sum": SQUARES}
    end_server(site)
    assert_both_worked_and_nothing_is_left(site, outcome)
