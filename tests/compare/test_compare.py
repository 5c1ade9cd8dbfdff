"""`hearth compare` and `hearth report` as black boxes, on real Spark."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.cli.options import read_line
from hearth.spark.saved_configs import keep_compared
from hearth.studies.engine.arms import BALANCING, cannot_switch
from support import (
    ROOT,
    Command,
    command,
    environment,
    eventually,
    hearth,
    running,
    says,
    validate,
)

pytestmark = pytest.mark.spark

APPS = ROOT / "tests" / "local_numa" / "apps"
FORCED = ("--executors", "2", "--cores", "1", "--memory", "512m")
#: What a user types in a program; the document is what `hearth compare --json` prints.
_COMPARE = """
import json, sys
import hearth
from hearth.base.codec import to_json

result = hearth.compare(
    sys.argv[1],
    arms=["native", "bound", "docker"], repeat=1, warmup=0,
    executors=2, cores=1, memory="512m", options=["--keep"],
)
assert isinstance(result, hearth.Compared)
print(json.dumps(to_json(result)))
"""


@pytest.fixture(scope="module", autouse=True)
def no_engine() -> Iterator[None]:
    """No Docker engine answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        yield


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, str]:
    """The state, the document and the errors of a comparison of two arms and a skipped one."""
    state = tmp_path_factory.mktemp("compared") / "state"
    done = subprocess.run(
        [sys.executable, "-c", _COMPARE, str(APPS / "tiny.py")],
        env=environment(state), cwd=state.parent, capture_output=True, text=True,
        timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return state, json.loads(done.stdout), done.stderr


def test_a_comparison_holds_to_its_contract_and_ran_each_arm_on_record(compared) -> None:
    state, document, _ = compared
    validate("comparison", document)
    assert [len(arm["seconds"]) for arm in document["arms"]] == [1, 1, 0]
    heads = [json.loads(f.read_text()) for f in sorted(state.glob("records/*/record.json"))]
    assert {head["arm"]: head["master"] for head in heads} == {
        "native": "local[*]", "bound": "local-numa[2x1]",
    }  # fmt: skip
    ends = {f.parent.name: json.loads(f.read_text()) for f in state.glob("records/*/end.json")}
    seconds = sorted(arm["seconds"][0] for arm in document["arms"][:2])
    assert seconds == sorted(end["wall_s"] for end in ends.values())


def test_one_run_of_each_is_no_reason_to_bind(compared) -> None:
    verdict = compared[1]["verdict"]
    assert verdict["choice"] is None
    assert verdict["sentence"].startswith("Undecided: bound looks")
    assert "one pair cannot prove it" in verdict["sentence"]


def test_what_this_machine_cannot_tell_is_absent_with_a_reason(compared) -> None:
    native, bound, docker = compared[1]["arms"]
    assert "/nowhere/docker.sock" in docker["skipped"] or "docker command" in docker["skipped"]
    for arm in (native, bound):
        assert 0 <= arm["measures"]["gc_share"] < 1
        assert arm["measures"]["cpu_s"] > 1
        cpi = arm["measures"]["cpi"]
        assert isinstance(cpi, float) or len(cpi["absent"]) > 10


def test_what_is_undecided_is_not_kept(compared) -> None:
    state, _, errors = compared
    assert "there is no winner to save" in errors
    dry = hearth(state, "submit", "--dry-run", str(APPS / "tiny.py"))
    assert "the winner of comparison" not in dry.stderr


def test_submit_uses_what_was_kept_and_says_so_unless_told_not_to(tmp_path: Path) -> None:
    state = tmp_path / "state"
    config = {"arm": "native", "comparison": "c", "sentence": "Do not bind."}
    config |= {"master": "local[*]", "words": []}
    keep_compared(state, read_line([str(APPS / "tiny.py")]), config)
    kept = hearth(state, "submit", "--dry-run", str(APPS / "tiny.py"))
    assert "using 'native', the winner of comparison c: Do not bind." in kept.stderr
    assert "--master 'local[*]'" in kept.stdout
    fixed = hearth(state, "submit", "--dry-run", *FORCED, str(APPS / "tiny.py"))
    assert "the winner of comparison" not in fixed.stderr
    assert "local-numa[2x1]" in fixed.stdout
    afresh = hearth(state, "submit", "--dry-run", "--no-kept", str(APPS / "tiny.py"))
    assert "the winner of comparison" not in afresh.stderr


def test_a_kept_plan_is_run_as_it_was_compared(tmp_path: Path) -> None:
    state, application = tmp_path / "state", str(APPS / "tiny.py")
    config = {"arm": "unbound", "comparison": "c", "sentence": "Partition."}
    config |= {"master": None, "words": ["--executors", "2", "--cores", "1", "--bind", "none"]}
    keep_compared(state, read_line([application]), config)
    dry = hearth(state, "submit", "--dry-run", application)
    assert "using 'unbound', the winner of comparison c: Partition." in dry.stderr
    assert "--master 'local-numa[2x1]'" in dry.stdout
    assert "spark.hearth.binding=off" in dry.stdout


def test_the_report_of_a_comparison_shows_it_with_a_run_of_each_arm(compared) -> None:
    state, document, _ = compared
    page = state.parent / "report.html"
    made = hearth(state, "report", document["id"], "--html", str(page), "--json")
    assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    assert report["comparison"]["id"] == document["id"]
    assert [run["record"]["arm"] for run in report["runs"]] == ["native", "bound"]
    assert document["verdict"]["sentence"].split(":")[0] in page.read_text()
    shown = hearth(state, "report", document["id"])
    assert document["verdict"]["sentence"][:40] in shown.stdout
    assert "tiny" in shown.stdout


def test_a_killed_comparison_leaves_nothing_running(tmp_path: Path) -> None:
    mark = f"pause-{os.getpid()}-mark"
    words = ["compare", "--arms", "bound,native", *FORCED, str(APPS / "pause.py"), "600", "4", mark]
    with subprocess.Popen(
        command(*words), env=environment(tmp_path / "state"), cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as comparing:  # fmt: skip
        eventually(
            "an event log is there",
            lambda: any((tmp_path / "state").glob("records/*/eventlog/*")),
            120,
        )
        comparing.send_signal(signal.SIGKILL)
    eventually("nothing runs any more", lambda: not running(mark))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arms", "nativ,bound", "x.py"], "'nativ' … native"),
        (["--arms", "native", "x.py"], "--arms … two"),
        (["--arms", "native,docker", "x.py"], "docker:"),
        (["--unbound", "x.py"], "--unbound: not an option of … use '--bind none'"),
        (["--engine", "comet", "x.py"], "--engine: … use '--packages … spark.plugins="),
        (["--docker", "x.py"], "--docker: … leave it out"),
        (
            ["--conf", "spark.hearth.binding=off", "x.py"],
            "spark.hearth.binding: 'off'",
        ),
        (["--repeat", "0", "x.py"], "--repeat: 0 … 1 to 1000"),
        (["--budget", "soon", "--executors", "2", "--cores", "1", "x.py"], "--budget: 'soon'"),
        (["--master", "yarn", "x.py"], "--master: 'yarn'"),
        ([], "name a workload, a jar or a Python file"),
    ],
)
def test_bad_words_are_refused_by_name(
    refused: Callable[..., str], tmp_path: Path, words: list[str], said: str
) -> None:
    assert says(refused("compare", *words), said)
    assert not list((tmp_path / "state").glob("studies/*/*"))


def test_balanced_is_refused_alone_where_the_kernel_cannot(tmp_path: Path) -> None:
    reason = cannot_switch(BALANCING)
    if reason is None:
        pytest.skip("this kernel can switch NUMA balancing")
    done = hearth(tmp_path / "state", "compare", "--arms", "native,balanced", "x.py")
    assert reason in done.stderr


def test_where_the_plan_is_native_it_is_compared_with_local_as_the_user_types_it(
    hearth: Command, tmp_path: Path
) -> None:
    plan = json.loads(hearth("plan", "--json").stdout)
    if plan["mode"] != "native":
        pytest.skip("the plan for this machine partitions it")
    # The empty job.py: what is run need not be a Spark application.
    done = hearth("compare", "--repeat", "1", "--warmup", "0", "--json", "job.py")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [arm["name"] for arm in document["arms"]] == ["native", "plan"]
    assert document["verdict"]["sentence"].startswith("Undecided: plan looks")
    runs = [json.loads(file.read_text()) for file in tmp_path.glob("state/records/*/record.json")]
    masters = {run["arm"]: (run["master"], run.get("plan") is not None) for run in runs}
    assert masters == {"native": ("local[*]", False), "plan": (plan["master"], True)}
    refused = hearth("compare", "--arms", "native,bound", "--json", "job.py")
    said = json.loads(refused.stdout)
    assert (refused.returncode, said["exit_code"]) == (0, 0)
    assert said["message"].startswith("Do not bind: the plan for this machine is native")
    assert said["message"] in refused.stderr
