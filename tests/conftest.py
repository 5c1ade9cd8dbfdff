"""What every test may ask for: features of the machine, the command, the jar."""

import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import execnet
import pytest

import own_processes
import support
from docker_engine import NoEngineError, docker_engine
from hearth.cli.main import main
from support import ROOT, TWO_CPUS, Command, require

# Threads of a library of numbers wait for each other, spinning: on matrices of tens of rows, beside
# other tests, that is most of their time. It is read where numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# As if the environment of the tests had been activated: applications run in its Python.
os.environ["VIRTUAL_ENV"] = sys.prefix
# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[execnet.XSpec]) -> None:
    """Starts each worker among processes of its own, where this machine lets us.

    This process, which runs no test itself, ends by SIGTERM as it does by Ctrl-C.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if own_processes.refused() is None:
        specs[:] = [
            execnet.XSpec(
                f"{spec}//id={spec.id}//python={own_processes.python(number, len(specs))}"
            )
            for number, spec in enumerate(specs)
        ]


def pytest_report_header() -> str:
    """Whether tests that plan for this machine run side by side."""
    refused = own_processes.refused()
    if refused is None:
        return "processes: each worker sees only its own; each file is a group"
    alone = "what plans for this machine is one group, because workers cannot have processes"
    return f"processes: {alone} of their own here ({refused})"


#: Tests that ask for these plan for this machine as it is, or start bound executors on it.
_OF_THIS_MACHINE = {"hearth", "site", "engine"}
_WORKLOADS = ROOT / "tests" / "workloads"  # on plain Spark
#: But these are bound too, without asking for the above.
_BOUND = {_WORKLOADS / "test_run.py", _WORKLOADS / "test_series.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its tier and its group.

    The emulated machines come first: one worker has them for longer than any other file, and would
    still be at them when the others have ended. Tests that wait for downloads come next; those of
    unit tests come last and fill up.
    """
    set_tiers(items)
    set_groups(items)
    long = {item.path for item in items if item.get_closest_marker("unit") is None}

    def turn(item: pytest.Item) -> int:
        if item.get_closest_marker("lab"):
            return 0
        if item.path.name == "test_versions.py":
            return 1
        return 2 if item.path in long else 3

    items.sort(key=turn)


def set_groups(items: list[pytest.Item]) -> None:
    """Tests of one group run one after the other (pytest-xdist).

    The emulated machines are one group; each file is its own. An application plans around the bound
    executors of others, so where workers see each other's processes, what plans for this machine is
    one group too.
    """
    alone = set() if own_processes.inside() else of_this_machine(items)
    for item in items:
        if item.get_closest_marker("lab"):
            group = "lab"
        else:
            group = "machine" if item.path in alone else item.path.stem
        item.add_marker(pytest.mark.xdist_group(group))


def of_this_machine(items: list[pytest.Item]) -> set[Path]:
    """The files whose tests plan for this machine or start bound executors on it."""
    return _BOUND | {
        item.path
        for item in items
        if not item.path.is_relative_to(_WORKLOADS)
        and (
            item.get_closest_marker("spark")
            or _OF_THIS_MACHINE & set(getattr(item, "fixturenames", ()))
        )
    }


def set_tiers(items: list[pytest.Item]) -> None:
    """Each test is in one tier: `lab` by its folder; `spark` or `command` where it says so; `spark`
    where it asks for a site of applications or a container engine; `command` where it asks for the
    command or a browser; else `unit`.
    """
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if item.path.is_relative_to(ROOT / "tests" / "numalab"):
            item.add_marker("lab")
        elif not any(item.get_closest_marker(tier) for tier in ("spark", "command")):
            command = fixtures & {"hearth", "browser"}
            spark = fixtures & {"site", "engine"}
            item.add_marker("spark" if spark else "command" if command else "unit")


@pytest.fixture(scope="session", autouse=True)
def own_leases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each worker's applications lease the machine from each other, not from those of others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_LEASES", str(tmp_path_factory.mktemp("leases")))
        yield


@pytest.fixture(scope="module")
def users_jdk() -> Iterator[None]:
    """The JDK that users have, with both compilers, where other tests run on one of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if named := os.environ.get("HEARTH_USERS_JDK"):
            patch.setenv("JAVA_HOME", named)
        yield


@pytest.fixture
def first_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """JVMs compile by the first of their two compilers alone, as the JDK of the tests does.

    The second costs more than it earns in so short an application.
    """
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="module")
def two_cpus() -> Iterator[tuple[int, ...]]:
    """Two CPUs, and no other one for this module's tests and what they start."""
    allowed = os.sched_getaffinity(0)
    if len(TWO_CPUS) < 2:
        require("cpus", "this process may use one CPU only")
    os.sched_setaffinity(0, TWO_CPUS)
    yield TWO_CPUS
    os.sched_setaffinity(0, allowed)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of captures and published tables beside the checkout, where there is one."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        require("shared", f"there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def lstopo() -> str:
    """hwloc's lstopo, for those tests that compare with it."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        require("hwloc", "lstopo is not installed: apt-get install hwloc")
    return str(program)


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """The address of a Docker engine, for DOCKER_HOST."""
    with contextlib.ExitStack() as stack:
        try:
            # Another's sees neither this worker's processes nor the /tmp of tools/test.sh.
            own = own_processes.inside() or os.environ.get("HEARTH_OWN_TMP") == "1"
            host = stack.enter_context(docker_engine(own=own))
        except NoEngineError as problem:
            require("docker", str(problem))
        yield host


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None or importlib.util.find_spec("playwright") is None:
        require("browser", "no chromium (apt-get install chromium) or no playwright in Python")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu"]
        running = play.chromium.launch(executable_path=program, args=flags)
        yield running
        running.close()


@pytest.fixture
def hearth(tmp_path: Path) -> Command:
    """Runs the installed `hearth` in a directory and a state of its own.

    The directory has two empty applications.
    """
    for application in ("x.py", "job.py"):
        (tmp_path / application).touch()
    return functools.partial(support.hearth, tmp_path / "state")


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Gives the one line with which `hearth` refuses words: in this process, which costs little."""
    for name in support.ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        code, said = main(list(words)), capsys.readouterr()
        assert code == 2 and ("--json" in words or said.out == "")
        (line,) = said.err.strip().splitlines()
        return line

    return run
