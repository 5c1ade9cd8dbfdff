"""`hearth lab characterise` as a black box, on real Spark."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.studies.characterise.study import Characterisation
from support import (
    PATIENCE_S,
    ROOT,
    TWO_CPUS,
    command,
    environment,
    eventually,
    hearth,
    running,
    says,
    validate,
)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("two_cpus")]

TINY = ROOT / "tests" / "local_numa" / "apps" / "tiny.py"
LIMIT_S = 400.0
CPUS = len(TWO_CPUS)


ONCE = ("--repeat", "1", "--warmup", "0")


@pytest.fixture(scope="module", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The data of this module's runs are its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEARTH_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, str]:
    """The state, the document and the errors of two questions asked of an application."""
    state = tmp_path_factory.mktemp("characterised") / "state"
    words = ("--questions", "sweep,rates", "--sweep", "1x2,2x1", "--json", *ONCE)
    page = ("--html", str(state.parent / "page.html"))
    done = hearth(state, "lab", "characterise", *words, *page, str(TINY))
    assert done.returncode == 0, done.stderr
    return state, json.loads(done.stdout), done.stderr


def test_a_characterisation_holds_to_its_contract_and_each_run_is_on_record(asked) -> None:
    state, document, _ = asked
    validate("characterisation", document)
    validate("comparison", document["questions"][0]["comparison"])
    heads = [json.loads(f.read_text()) for f in sorted(state.glob("records/*/record.json"))]
    assert sorted((head["arm"], head["master"]) for head in heads) == [
        ("1x2", "local-numa[1x2]"), ("2x1", "local-numa[2x1]"),
    ]  # fmt: skip


def test_a_sweep_names_the_fastest_and_the_class_of_the_other(asked) -> None:
    sweep = asked[1]["questions"][0]
    times = {(c["executors"], c["cores"]): c for c in sweep["cells"]}
    best = min(times.values(), key=lambda cell: cell["seconds"])
    assert best["class"] == "best" and set(times) == {(1, 2), (2, 1)}
    assert sweep["sentence"].startswith(f"{best['executors']}x{best['cores']} (executors x cores)")


def test_a_question_that_cannot_be_answered_says_why_and_what_to_ask(asked) -> None:
    rates = asked[1]["questions"][1]
    assert rates["reason"].startswith("it needs a streaming workload: hearth lab characterise")
    assert "comparison" not in rates


def test_progress_counts_the_runs_and_the_end_names_the_characterisation(asked) -> None:
    _, document, errors = asked
    assert "hearth: 2/2  tiny.py, sweep: " in errors
    assert f"hearth: characterisation {document['id']}" in errors


def test_it_is_shown_again_later_and_as_a_page(asked) -> None:
    state, document, _ = asked
    shown = hearth(state, "report", document["id"]).stdout
    assert document["questions"][0]["sentence"].split(",")[0] in shown
    assert "Not answered here" in shown
    classes = {cell["class"] for cell in document["questions"][0]["cells"]}
    assert all(any(row.endswith(kind) for row in shown.splitlines()) for kind in classes)
    page = (state.parent / "page.html").read_text()
    assert document["questions"][0]["title"] in page and "<td" in page
    again = json.loads(hearth(state, "report", document["id"], "--json").stdout)
    assert again["characterisation"] == document


def test_a_step_of_a_published_study_runs_its_workload_in_every_way_and_checks_answers(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    words = ("--steps", "K-Means", "--scale", "0.0002", "--warm", *ONCE, "--json")
    done = hearth(state, "lab", "study", "run", "awan-executors", *words)
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    validate("study", study)
    (step,) = study["studies"][0]["steps"]
    assert (step["state"], set(step["readings"])) == ("ran", {"1x2", "2x1"})
    kept = Characterisation.read(state / "studies" / "characterise" / step["study"])
    (question,) = kept.head.questions
    assert question.comparison is not None
    assert question.comparison.settings.timed == "the job's own phases, without the start of Spark"
    assert {run.arm: run.answer for run in kept.trials} == {"1x2": "checked", "2x1": "checked"}
    assert all(run.seconds < run.wall_s for run in kept.trials if run.seconds and run.wall_s)


def test_a_dry_run_lists_the_ways_and_the_reasons_and_runs_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    done = hearth(state, "lab", "characterise", "--dry-run", *ONCE, str(TINY))
    assert done.returncode == 0, done.stderr
    assert "not here: it needs a streaming workload" in done.stdout
    assert "runs; of each arm: 0 warm-up, 1 measured" in done.stdout
    assert not list(state.glob("records/*")) and not list(state.glob("studies/*/*"))


def test_a_folder_named_like_a_workload_is_not_taken_for_an_application(tmp_path: Path) -> None:
    (tmp_path / "grep").mkdir()
    done = hearth(
        tmp_path / "state", "lab", "characterise", "--dry-run", "--questions", "kinds", "grep"
    )
    assert done.returncode == 0, done.stderr
    assert "batch, streaming" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--executors", "2", str(TINY)], "--executors:"),
        (["--master", "local[*]", str(TINY)], "--master:"),
        (["--bind", "none", str(TINY)], "--bind: … 'nodes'"),
        (["--docker", str(TINY)], "--docker: … hearth compare"),
        (
            ["--conf", "spark.hearth.launcher=docker", str(TINY)],
            "spark.hearth.launcher: 'docker'",
        ),
        (["--questions", "rate", str(TINY)], "'rate' … use executors"),
        (["--sweep", "2*2", str(TINY)], "--sweep: '2*2' … executors x cores"),
        (["--repeat", "0", str(TINY)], "--repeat: 0 … 1 to 1000"),
        (["--budget", "soon", str(TINY)], "--budget: 'soon'"),
        (["wordcount"], "'wordcount' … word-count"),
        (["word-count", "--iterations", "3"], "--iterations … word-count"),
        ([], "nothing to run"),
    ],
)
def test_what_cannot_be_asked_is_one_line_with_what_to_do(
    refused: Callable[..., str], words: list[str], said: str
) -> None:
    assert says(refused("lab", "characterise", *words), said)


def test_an_application_that_fails_is_an_answer_too_and_the_exit_code_tells(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('no such table')")
    words = ("--questions", "sweep", "--sweep", "1x2,2x1", *ONCE)
    done = hearth(tmp_path / "state", "lab", "characterise", *words, str(broken))
    assert done.returncode == 1
    assert "No run finished, so there is no answer." in done.stdout
    assert "no such table" in " ".join(done.stdout.split())


def test_what_no_longer_fits_into_the_budget_is_listed_and_not_run(tmp_path: Path) -> None:
    state, program = tmp_path / "state", tmp_path / "brief.py"
    program.write_text("")  # what is run need not be a Spark application
    words = ("--questions", "executors,sweep", "--budget", "1s", "--warmup", "0", "--json")
    document = json.loads(hearth(state, "lab", "characterise", *words, str(program)).stdout)
    executors, sweep = document["questions"]
    assert {len(arm["seconds"]) for arm in executors["comparison"]["arms"]} == {1}
    assert says(sweep["reason"], "give a longer --budget with --resume")


def test_what_ran_before_a_kill_or_ctrl_c_is_reported_and_nothing_runs_on(tmp_path: Path) -> None:
    """Killed first, then resumed, and then interrupted: only one of its runs finishes."""
    state, marks = tmp_path / "state", tmp_path / "marks"
    marks.mkdir()
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import os, time; open(f'{os.environ[\"MARKS\"]}/{os.getpid()}', 'w')\n"
        "time.sleep(600 if len(os.listdir(os.environ['MARKS'])) > 1 else 0)"
    )
    words = ["lab", "characterise", "--questions", "sweep", "--sweep", "1x2,2x1", "--repeat", "3"]
    words += ["--warmup", "0"]
    ended_with(signal.SIGKILL, state, marks, [*words, str(slow)], began=2)
    (kept,) = (state / "studies" / "characterise").iterdir()
    assert_reported(state, kept.name)
    resumed = ["lab", "characterise", "--resume", kept.name]
    code, errors = ended_with(signal.SIGINT, state, marks, resumed, began=3)
    assert code == 130
    assert f"hearth: characterisation {kept.name}" in errors
    assert f"'hearth lab characterise --resume {kept.name}' continues from here" in errors
    assert_reported(state, kept.name)
    finished = [end.read_text() for end in state.glob("records/*/end.json")]
    assert sum('"finished"' in end for end in finished) == 1, (
        "the first one, which is not run again"
    )


def ended_with(
    number: signal.Signals, state: Path, marks: Path, words: list[str], began: int
) -> tuple[int, str]:
    """The exit code and the errors of a command that gets a signal once so many runs have begun."""
    here = str(state.parent)
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command(*words)],
        env=environment(state, MARKS=str(marks)), cwd=here,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        eventually("the runs began", lambda: len(list(marks.iterdir())) >= began, LIMIT_S)
        eventually("its children are there", lambda: len(running(here)) > 2)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_S)
    eventually("no process of it is left", lambda: not running(here), 60)
    return process.returncode, errors


def assert_reported(state: Path, name: str) -> None:
    shown = hearth(state, "report", name)
    assert shown.returncode == 0, shown.stderr
    assert "has the smallest median" in shown.stdout
