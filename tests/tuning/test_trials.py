"""`hearth tune APP`: which trials are made and what is kept, on runs that end at once."""

import json
import math
import multiprocessing
import os
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearth.base.absent import Absent
from hearth.base.codec import to_json, typed
from hearth.base.durations import show_seconds
from hearth.base.errors import UserError
from hearth.cli.commands import tune as command
from hearth.cli.main import main
from hearth.cli.options import read_line
from hearth.record.schema import Launched
from hearth.record.store import RecordWriter
from hearth.report.html.page import page
from hearth.report.kinds import show_document
from hearth.report.terminal.screen import Screen
from hearth.report.terminal.sources import read_sources
from hearth.report.tune import next_steps, sentence, to_copy
from hearth.spark.saved_configs import TunedConfig, keep_tuned, kept_tuned, workload_named
from hearth.spark.submit_args import SubmitLine, SubmitOptions
from hearth.studies.engine.arms import Arm, profile_words
from hearth.studies.engine.progress import StudyProgress
from hearth.studies.engine.store import Opening
from hearth.studies.engine.target import tuned_as
from hearth.studies.engine.trial import Choice, Trial, Turn
from hearth.studies.listing import list_studies
from hearth.studies.models.performance_model import ModelEvidence
from hearth.studies.models.search import SearchStep, SearchTrial, Task, next_step, outlook
from hearth.studies.models.space import Configuration, MachineSize
from hearth.studies.tune import search_space
from hearth.studies.tune import study as tune
from hearth.studies.tune.result import Tuned
from hearth.studies.tune.search_space import SearchSpace, parse_vary
from hearth.studies.tune.study import Tune, TuneSettings, read_tune
from hearth.studies.tune.verdict import tuned, winner
from hearth.workloads import cases, runner
from planned_machines import a_machine, a_plan
from support import Command, as_text, says, validate

MACHINE = MachineSize(threads=32, cores=16, memory_gb=128)
TOPOLOGY = {
    "allowed": {"cpus": "0-31", "nodes": "0-1"},
    "cpus": "0-31",
    "cores": [{"cpus": f"{at},{at + 16}"} for at in range(16)],
    "packages": [{"cpus": "0-15"}, {"cpus": "16-31"}],
    "nodes": [
        {"id": at, "memory_bytes": 64 << 30, "cpus": f"{16 * at}-{16 * at + 15}"} for at in range(2)
    ],
}
#: The plan first, the user's own last.
WAYS = [
    Configuration("local-numa", 4, 8, 24_000, "node", "ParallelGC"),
    *(
        Configuration(f"local-numa[{n}x{c}]", n, c, 96_000 // n, "node", collector)
        for n in (1, 2, 4, 8, 16)
        for c in (2, 4, 8, 16, 32)
        for collector in ("ParallelGC", "G1GC")
        if 8 <= n * c <= 32 and (n, c, collector) != (4, 8, "ParallelGC")
    ),
    Configuration("local[*]", 0, 32, 1024, "none", "G1GC"),
]
CURRENT = len(WAYS) - 1
SPACE = SearchSpace(WAYS, 0, CURRENT, [], [])
BOTH = SearchSpace(WAYS[:-1], 0, 0, [], [])
SETTINGS = TuneSettings(budget=8, limit_s=3600.0, runs=100)
#: The seconds of a configuration, by its name.
Times = Callable[[str], float]


def shape(best: tuple[int, int], own: float = 2.0) -> Times:
    """The farther from the best, the slower; your own takes `own` times as long as the best."""

    def seconds(name: str) -> float:
        if name.startswith("local[*]"):
            return 100.0 * own
        n, c = map(int, name.split()[0].split("x"))
        away = math.log2(n / best[0]) ** 2 + math.log2(c / best[1]) ** 2
        return 100.0 * math.exp(0.1 * away) * (1.05 if "G1GC" in name else 1.0)

    return seconds


class Quick:
    """A target whose runs are over at once, on record, each in the time that it is given."""

    name, timed = "quick.py", "the application, from start to end"

    def __init__(
        self,
        times: Times,
        failing: Mapping[str, str] = {},
        noise: float = 0.0,
        ends_at: int | None = None,
        ends_by: Callable[[], None] = lambda: None,
        seed: int = 0,
    ) -> None:
        self.times, self.failing, self.noise = times, failing, noise
        self.ends_at, self.ends_by = ends_at, ends_by
        self.arms: list[Arm] = []
        self.draw = np.random.default_rng(seed)

    def run(self, turn: Turn, arm: Arm, record: Path, log: Path) -> Trial:
        if len(self.arms) == self.ends_at:
            self.ends_by()
        self.arms.append(arm)
        seconds = self.times(arm.name) * math.exp(self.noise * self.draw.standard_normal())
        failed = next((why for name, why in self.failing.items() if name in arm.name), None)
        stopped = arm.limit_s is not None and seconds > arm.limit_s
        seconds = min(seconds, arm.limit_s or seconds)
        writer = RecordWriter.create(record, "quick", Launched(master="x"))
        writer.finish("finished", 124 if stopped else 0, seconds)
        if failed or stopped:
            return Trial(turn, failure=failed or "ended with 124", record=record.name)
        return Trial(turn, seconds=seconds, record=record.name)


def begin(
    state: Path,
    space: SearchSpace = SPACE,
    settings: TuneSettings = SETTINGS,
    resume: str | None = None,
    date: str = "today",
) -> Tune:
    target, words = Quick(shape((4, 4))), ["quick.py", "--date", date]
    return Tune.begin(
        state, target, lambda: (space, MACHINE), settings, words, "here", Opening(resume=resume)
    )


def made(
    state: Path, target: Quick, space: SearchSpace = SPACE, settings: TuneSettings = SETTINGS
) -> dict[str, Any]:
    """The document of a whole tune."""
    kept = begin(state, space, settings)
    tune.run(kept, target, {}, StudyProgress())
    return dict(to_json(tuned(read_tune(kept.directory))))


def shown(document: dict[str, Any]) -> list[str]:
    return [trial["configuration"]["shown"] for trial in document["trials"]]


def test_the_plan_and_your_own_configuration_are_measured_first(tmp_path: Path) -> None:
    document = made(tmp_path, Quick(shape((8, 2))))
    assert [trial["role"] for trial in document["trials"][:3]] == ["proposal", "current", "search"]
    assert shown(document)[:2] == ["4x8 ParallelGC", "local[*] G1GC"]
    assert "expected" in document["trials"][2] and document["trials"][0]["expected"] is None


def test_it_ends_near_the_best_and_says_what_that_saves(tmp_path: Path) -> None:
    times = shape((8, 2), own=1.6)
    document = made(tmp_path, Quick(times))
    best = document["best"]
    fastest = min(times(way.shown) for way in WAYS)
    assert times(best["configuration"]["shown"]) <= 1.05 * fastest
    saving = best["saving"]
    assert saving["low"] < 1 - times(best["configuration"]["shown"]) / 160 < saving["high"]
    assert not best["is_current"]


def test_the_last_trial_repeats_the_best(tmp_path: Path) -> None:
    document = made(tmp_path, Quick(shape((8, 2))))
    assert [trial["role"] for trial in document["trials"]].index("repeat") == 7
    assert shown(document)[7] == document["best"]["configuration"]["shown"]
    assert document["scatter"]["share"] == pytest.approx(0, abs=1e-6)


def test_it_stops_when_a_further_trial_is_not_worth_its_time(tmp_path: Path) -> None:
    once = made(tmp_path / "once", Quick(shape((4, 8))), settings=TuneSettings(30, 3600, 1))
    often = made(tmp_path / "often", Quick(shape((4, 8))), settings=TuneSettings(30, 3600, 10_000))
    assert len(once["trials"]) < len(often["trials"])
    assert "which over 1 runs is less than the trial takes" in once["stopped"]


def test_a_trial_beyond_hope_is_stopped_early_and_counted(tmp_path: Path) -> None:
    def times(name: str) -> float:
        return 50.0 if name.startswith(("4x8 P", "local[*]")) else 400.0

    target = Quick(times)
    document = made(tmp_path, target)
    searched = [trial for trial in document["trials"] if trial["role"] == "search"]
    assert searched
    assert all(trial["stopped_s"] == pytest.approx(75) for trial in searched)
    assert all(arm.limit_s == 3600 for arm in target.arms[:2]), "your own is measured to its end"
    assert "stopped after 1 min 15 s: too slow to win" in "\n".join(
        show_document(typed(document, Tuned), Screen(160))
    )
    assert document["best"]["configuration"]["shown"] in ("4x8 ParallelGC", "local[*] G1GC")


def test_a_failed_trial_is_information_and_not_an_end(tmp_path: Path) -> None:
    failing = {"8x2 ParallelGC": "ended with 1: java.lang.OutOfMemoryError: Java heap space"}
    target = Quick(shape((8, 2)), failing)
    document = made(tmp_path, target, settings=TuneSettings(12, 3600, 1000))
    failed = [trial for trial in document["trials"] if trial["failure"]]
    assert len(failed) == 1
    per_slot = 96_000 / 8 / 2
    later = document["trials"][failed[0]["number"] :]
    assert all(
        trial["configuration"]["heap_mb"] / trial["configuration"]["cores"] > per_slot
        for trial in later
        if trial["role"] == "search"
    ), "what has as little memory for each task is not tried"
    assert document["best"]["configuration"]["shown"] != "8x2 ParallelGC"


def test_a_proposal_that_fails_leaves_your_own_to_be_measured(tmp_path: Path) -> None:
    document = made(
        tmp_path, Quick(shape((8, 2)), {"4x8 ParallelGC": "ended with 1: executor lost"})
    )
    assert document["trials"][0]["failure"] == "ended with 1: executor lost"
    assert document["trials"][1]["seconds"] is not None
    assert len(document["trials"]) > 3


@pytest.mark.parametrize(("space", "runs"), [(SPACE, 2), (BOTH, 1)], ids=["two ways", "one way"])
def test_an_application_that_fails_from_the_first_is_an_error(
    tmp_path: Path, space: SearchSpace, runs: int
) -> None:
    target = Quick(shape((8, 2)), {"": "ended with 1: FileNotFoundError: 'data.csv'"})
    with pytest.raises(UserError, match="nothing to tune: ended with 1: FileNotFoundError") as said:
        made(tmp_path, target, space)
    assert len(target.arms) == runs
    assert "\n" not in str(said.value)


def test_one_that_never_ends_is_ended_by_the_limit(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was not over after 20 s: give a longer --limit"):
        made(tmp_path, Quick(shape((8, 2))), settings=TuneSettings(8, 20.0, 100))


def test_where_runs_scatter_too_much_nothing_is_kept_and_it_is_said(tmp_path: Path) -> None:
    kept = begin(tmp_path)
    tune.run(kept, Quick(shape((8, 2), own=1.3), noise=0.9, seed=3), {}, StudyProgress())
    document = to_json(tuned(kept))
    assert document["scatter"]["share"] > 0.3
    assert winner(kept) is None
    said = f"repeated runs scatter by {document['scatter']['share']:.0%}, so that chance decides"
    assert any(said in text for text in document["warnings"])
    calm = begin(tmp_path)
    tune.run(calm, Quick(shape((8, 2))), {}, StudyProgress())
    assert winner(calm) is not None and not tuned(calm).warnings


def _loaded(kept: Tune, own: float, others: float = 0.0) -> Tune:
    """The tune, with other programs' share of the CPUs during its runs."""
    kept.trials = [
        replace(
            line, measures={"other_load": own if tune.configuration_of(line) == CURRENT else others}
        )
        for line in kept.trials
    ]
    return kept


def test_single_runs_have_no_interval_and_no_share_that_they_save(tmp_path: Path) -> None:
    kept = begin(tmp_path, settings=TuneSettings(3, 3600.0, 100))
    tune.run(kept, Quick(shape((8, 2))), {}, StudyProgress())
    found = tuned(kept)
    said = sentence(found)
    assert "your own configuration 200.00 s: no configuration was run twice" in said
    assert "expected to save" not in said and "interval" not in said
    assert next_steps(found) == [f"hearth tune --resume {found.id} --budget 5: it repeats the best"]
    whole = begin(tmp_path)
    tune.run(whole, Quick(shape((8, 2))), {}, StudyProgress())
    assert "expected to save" in sentence(tuned(whole))


def test_what_other_programs_load_explains_is_not_kept_and_what_it_does_not_is(
    tmp_path: Path,
) -> None:
    kept = begin(tmp_path)
    tune.run(kept, Quick(shape((8, 2))), {}, StudyProgress())  # your own takes twice as long
    assert winner(_loaded(kept, own=0.4)) is not None
    assert tuned(kept).not_kept is None
    assert winner(_loaded(kept, own=0.84)) is None
    found = tuned(kept)
    assert found.not_kept is not None and "84% of the CPUs" in found.not_kept
    assert any("nothing is saved" in text and "--wait-quiet" in text for text in found.warnings)
    assert "--wait-quiet 10m" in next_steps(found)[0]
    assert winner(_loaded(kept, own=0.0, others=0.84)) is not None


def test_a_later_nothing_withdraws_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    line, kept = read_line(["quick.py"]), begin(tmp_path)
    tune.run(kept, Quick(shape((8, 2))), {}, StudyProgress())
    command.keep_or_withdraw(line, kept, tuned(kept))
    assert kept_tuned(tmp_path, tuned_as(line)) is not None
    loaded = _loaded(kept, own=0.84)
    command.keep_or_withdraw(line, loaded, tuned(loaded))
    assert kept_tuned(tmp_path, tuned_as(line)) is None
    said = capsys.readouterr().err
    assert "nothing is saved: other programs used 84%" in said
    assert f"the result of {kept.head.id} is withdrawn" in said


def test_the_best_is_shown_as_words_to_copy(tmp_path: Path) -> None:
    kept = begin(tmp_path)
    tune.run(kept, Quick(shape((8, 2))), {}, StudyProgress())
    found = tuned(kept)
    best = found.best
    assert not isinstance(best, Absent)
    (copied,) = to_copy(found)
    assert copied.startswith(
        f"hearth submit --executors {best.configuration.executors}"
        f" --cores {best.configuration.cores}"
    )
    assert copied.endswith(" quick.py --date today"), "with all that was typed"
    assert f"    {copied}" in show_document(found, Screen(40)), "in one line, however narrow"
    assert f"<code>{copied}</code>" in as_text(page([], found))


def killed_in_a_trial(state: Path) -> None:
    target = Quick(shape((8, 2)), ends_at=3, ends_by=lambda: os.kill(os.getpid(), signal.SIGKILL))
    tune.run(begin(state), target, {}, StudyProgress())


def test_after_kill_9_no_finished_trial_is_lost_or_made_again(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(
        target=killed_in_a_trial, args=(tmp_path,)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    (directory,) = (tmp_path / "studies" / "tune").iterdir()
    with (directory / "trials.jsonl").open("a") as journal:
        journal.write('{"turn": {"ar')
    before = read_tune(directory).trials
    assert len(before) == 3
    again = Quick(shape((8, 2)))
    resumed = begin(tmp_path, resume=directory.name)
    tune.run(resumed, again, {}, StudyProgress())
    whole = read_tune(directory)
    assert whole.trials[:3] == before
    assert len(whole.trials) == 3 + len(again.arms)
    apart = made(tmp_path / "apart", Quick(shape((8, 2))))
    assert shown(to_json(tuned(whole))) == shown(apart), (
        "it goes on as if it had never been cut short"
    )


def test_progress_names_each_trial_that_beats_all_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = begin(tmp_path)
    tune.run(begun, Quick(shape((8, 2))), {}, StudyProgress())
    told = re.findall(r"^hearth: best so far: (.*), (.*)$", capsys.readouterr().err, re.MULTILINE)
    ended = [(tune.configuration_of(one), one.seconds) for one in begun.trials if one.seconds]
    best = [
        (WAYS[way].shown, show_seconds(seconds, 2))
        for at, (way, seconds) in enumerate(ended)
        if at and seconds < min(earlier for _, earlier in ended[:at])
    ]
    assert told == best and told


def test_it_is_resumed_only_as_it_was_but_with_more_budget(tmp_path: Path) -> None:
    number = begin(tmp_path).head.id
    with pytest.raises(UserError, match=f"--resume: {number} has command '.*today', not '.*first'"):
        begin(tmp_path, resume=number, date="first")
    with pytest.raises(UserError, match=r"no tune has the id '\.\./x'"):
        begin(tmp_path, resume="../x")
    more = TuneSettings(20, 3600.0, 100)
    begin(tmp_path, settings=more, resume=number)
    assert read_tune(tmp_path / "studies" / "tune" / number).head.settings.budget == 20


def test_what_another_application_taught_is_known(tmp_path: Path) -> None:
    first = made(tmp_path, Quick(shape((2, 4))), settings=TuneSettings(20, 3600, 10_000))
    assert first["space"]["known_before"] == 0
    second = begin(tmp_path)
    assert len(second.related) == 1
    target = Quick(shape((2, 4)))
    tune.run(second, target, {}, StudyProgress())
    alone = Quick(shape((2, 4)))
    tune.run(begin(tmp_path / "apart"), alone, {}, StudyProgress())

    def needed(target: Quick) -> float:
        names = [arm.name for arm in target.arms]
        near = (at for at, name in enumerate(names) if target.times(name) <= 105)
        return next(near, math.inf)

    assert needed(target) < needed(alone)


def test_what_a_trial_measured_besides_its_time_changes_what_is_expected() -> None:
    """CPUs that are idle while all slots have tasks speak against many threads in one JVM."""
    task = Task(MACHINE, tuple(WAYS), 0, CURRENT, 8, 100)
    wide = next(at for at, way in enumerate(WAYS) if way.shown == "1x32 ParallelGC")
    idle, busy = (
        outlook(task, [SearchTrial(0, 100.0, evidence=ModelEvidence(cpu_use=use))]).forecast.mean[
            wide
        ]
        for use in (0.4, 0.95)
    )
    assert busy < idle - 0.02
    loaded = {"cpu_use": 0.9, "other_load": 0.5, "gc_share": 0.2, "voluntary": 50, "cpu_s": 10.0,
              "bandwidth_share": Absent("no counter")}  # fmt: skip
    assert tune.evidence_of(loaded) == ModelEvidence(collecting=0.25, switching=5.0)
    alone = {"cpu_use": 0.9, "other_load": 0.0, "bandwidth_share": 0.7}
    assert tune.evidence_of(alone) == ModelEvidence(cpu_use=0.9, bandwidth=0.7)
    assert tune.evidence_of({}) == ModelEvidence(), "times alone"


def test_it_is_listed_and_reported_again_as_at_its_end(tmp_path: Path) -> None:
    document = made(tmp_path, Quick(shape((8, 2))))
    validate("tune", json.loads(json.dumps(document)))
    (listed,), problems = list_studies(tmp_path)
    assert (listed.kind, listed.id) == ("tune", document["id"])
    assert listed.runs == len(document["trials"])
    assert not problems
    sources = read_sources([document["id"]], tmp_path)
    assert to_json(sources.tune) == document
    text = "\n".join(show_document(typed(document, Tuned), Screen(160)))
    assert "expected to save" in text and "Stopped: " in text
    (row,) = (line.split("  ") for line in text.splitlines() if line.startswith("  8  "))
    assert sum("*" in cell for cell in row) >= 1, "what was tried stands out in the surface"
    for name in shown(document):
        assert name in text


def test_an_interval_holds_the_gain_as_often_as_it_says(tmp_path: Path) -> None:
    """Imagined applications, each tuned once; the true gain of what is recommended is known."""
    draw, held = np.random.default_rng(5), []
    for number in range(12):
        best = (2 ** int(draw.integers(0, 5)), 2 ** int(draw.integers(1, 5)))
        times = shape(best, own=float(draw.uniform(1.3, 2)))
        target = Quick(times, noise=0.05, seed=number)
        document = made(tmp_path / str(number), target)
        saving = document["best"]["saving"]
        if "absent" not in saving:
            name = document["best"]["configuration"]["shown"]
            true = 1 - times(name) / times("local[*]")
            held.append(saving["low"] <= true <= saving["high"])
    assert len(held) >= 9
    assert np.mean(held) >= 0.85


def planned(request: dict[str, Any]) -> Any:
    """A planner in little: two nodes of 16 threads, 64 GB; no executor over both, 4 GB a slot."""
    limits = request["limits"]
    executors, cores = limits.get("executors") or 4, limits.get("cores") or 8
    if executors * cores > 32 or cores > 16:
        return UserError(f"{executors}x{cores} does not fit")
    flags = limits["conf"].get("spark.executor.extraJavaOptions", "") or "-XX:+UseParallelGC"
    heap_mb = int(limits["conf"].get("spark.executor.memory", f"{96_000 // executors}m")[:-1])
    wide = limits["conf"].get("spark.hearth.binding.scope") == "package"
    place = {"memory_nodes": "0-1", "cpus": "0-15"} if wide else {"memory_nodes": "0", "cpus": "0"}
    one = {"task_slots": cores, "heap_mb": heap_mb, **place}
    many = [{**one, "java_options": flags.split()} for _ in range(executors)]
    return a_plan({"mode": "partitioned", "executors": many, "driver": {"heap_mb": 4096}})


def space(
    monkeypatch: pytest.MonkeyPatch,
    settings: Mapping[str, str] = {},
    master: str | None = None,
    vary: Mapping[str, list[str]] = {},
    topology: dict[str, Any] = TOPOLOGY,
    **given: object,
) -> SearchSpace:
    asked: list[int] = []

    def plans(requests: list[dict[str, Any]], debug: bool) -> list[Any]:
        asked.append(len(requests))
        return [planned(request) for request in requests]

    monkeypatch.setattr(search_space, "plans", plans)
    line = SubmitLine(SubmitOptions(**given), application=("a.py",))  # type: ignore[arg-type]
    found = search_space.space(line, settings, master, vary, a_machine(topology))
    assert len(asked) <= 2, "the planner is asked once for all, and once for what is beside them"
    return found


def test_only_what_fits_is_in_the_space_and_the_rest_has_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = space(monkeypatch)
    assert all(8 <= one.slots <= 32 and one.cores <= 16 for one in found.configurations[:-1])
    assert {"1x32 G1GC does not fit"} & {f"{o.shown} does not fit" for o in found.refused}
    assert {one.binding for one in found.configurations} == {"node", "none"}
    assert {one.collector for one in found.configurations} == {"ParallelGC", "G1GC"}
    names = [one.shown for one in found.configurations]
    assert len(set(names)) == len(names)
    assert names[found.proposal] == "4x8 ParallelGC" and names[found.current] == "local[*] G1GC"


def test_every_choice_that_is_named_is_searched_where_the_machine_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halves = [{"id": at, "memory_bytes": 32 << 30, "cpus": f"{8 * at}-{8 * at + 7}"}
              for at in range(4)]  # fmt: skip
    four = {**TOPOLOGY, "nodes": halves, "allowed": {"cpus": "0-31", "nodes": "0-3"}}
    found = space(monkeypatch, topology=four)
    ways = found.configurations
    sizes = [way for way in ways if way.executors]
    assert {way.binding for way in ways} == {"none", "node", "package"}
    by_package = [way for way in ways if way.binding == "package"]
    assert all(way.varied == {"spark.hearth.binding.scope": "package"} for way in by_package)
    assert by_package[0].conf({})["spark.hearth.binding.scope"] == "package"
    assert "4x8 G1GC by package" in [way.shown for way in by_package]
    keys = {key for way in ways for key in way.varied}
    assert {*found.offered, "spark.hearth.binding.scope"} == keys
    assert set(found.offered) == {"spark.sql.shuffle.partitions", "spark.memory.storageFraction",
                                  "spark.executor.memory"}  # fmt: skip
    halved = next(way for way in ways if "spark.executor.memory" in way.varied)
    assert halved.heap_mb == 96_000 // halved.executors // 2 and "a smaller heap" in halved.choices
    used = {way.slots / 16 for way in sizes}
    assert min(used) == 0.5 and {1.0, 2.0} <= used, "one task for a core, and one for each thread"
    fixed = {"spark.sql.shuffle.partitions": "7", "spark.memory.storageFraction": "0.4",
             "spark.hearth.binding.scope": "package"}  # fmt: skip
    held = space(monkeypatch, fixed, topology=four, memory="4g")
    assert held.offered == []
    assert {way.binding for way in held.configurations} == {"package"}


def test_a_setting_that_a_trial_shows_to_have_nothing_to_act_on_is_not_tried(
    tmp_path: Path,
) -> None:
    key = "spark.sql.shuffle.partitions"
    few = [WAYS[0], WAYS[3], WAYS[CURRENT]]
    more = [replace(way, varied={key: "64"}) for way in few[:2]]
    task = Task(MACHINE, (*few, *more), 0, 2, 200, 10**9)
    seen = [SearchTrial(0, 100.0), SearchTrial(2, 200.0)]
    idle = [SearchTrial(0, 100.0, idle=frozenset({key})), SearchTrial(2, 200.0)]

    def tried(trials: list[SearchTrial]) -> set[int]:
        trials = list(trials)
        while isinstance(step := next_step(task, trials), SearchStep) and step.role == "search":
            trials.append(SearchTrial(step.index, 150.0))
        return {trial.index for trial in trials}

    assert max(tried(seen)) >= len(few) > max(tried(idle))
    head = begin(tmp_path, replace(SPACE, offered=[key])).head
    line = Trial(
        Turn("a", "a", 0), 1.0, measures={"sql_shuffle_mb": 0.0}, choice=Choice(0, "search")
    )
    assert tune.search_trial(head, line).idle == {key}
    some = replace(line, measures={"sql_shuffle_mb": 5.0})
    assert tune.search_trial(head, some).idle == frozenset()
    asked = begin(tmp_path / "vary").head
    assert tune.search_trial(asked, line).idle == frozenset(), "what --vary names is tried"


def test_what_you_fixed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    by_option = space(monkeypatch, executors=4)
    assert {one.executors for one in by_option.configurations} == {4}
    assert by_option.current == by_option.proposal, "what you typed is the plan"
    by_master = space(monkeypatch, master="local-numa[2x8]")
    assert {(one.executors, one.cores) for one in by_master.configurations} == {(2, 8)}
    unbound = space(monkeypatch, bind="none")
    assert {one.binding for one in unbound.configurations} == {"none"}
    flags = {"spark.executor.extraJavaOptions": "-XX:+UseZGC"}
    collector = space(monkeypatch, flags)
    assert {one.collector for one in collector.configurations if one.executors} == {"ZGC"}
    assert "ZGC" in collector.fixed
    own = space(monkeypatch, {"spark.driver.memory": "3g"}, "local[7]")
    mine = own.configurations[own.current]
    assert (mine.master, mine.cores, mine.heap_mb) == ("local[7]", 7, 3072)
    with pytest.raises(UserError, match="--master: 'yarn' is not this machine alone"):
        space(monkeypatch, master="yarn")


def test_any_key_can_be_varied_in_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    vary = parse_vary(["spark.sql.shuffle.partitions=64, 200", "spark.a=x"], {})
    found = space(monkeypatch, vary=vary, executors=4, cores=8)
    values = [one.varied for one in found.configurations if one.binding == "node"]
    assert values.count({"spark.sql.shuffle.partitions": "64", "spark.a": "x"}) == 2
    assert found.configurations[0].varied == {}
    for words, said in (
        (["spark.a"], "'spark.a' is not spark.key=a,b,c"),
        (["a=1"], "'a=1' is not spark.key=a,b,c"),
        (["spark.a=1", "spark.a=2"], "spark.a is given twice"),
        (["spark.b=1"], "spark.b is fixed to '5' as well"),
        (["spark.my.password=a,b"], "spark.my.password names a secret"),
    ):
        with pytest.raises(UserError, match=said):
            parse_vary(words, {"spark.b": "5"})
    many = parse_vary([f"spark.a={','.join(map(str, range(40)))}"], {})
    with pytest.raises(UserError, match="configurations are more than 600: give fewer"):
        space(monkeypatch, vary=many)


@pytest.mark.parametrize("typed", [False, True])
def test_trials_show_no_java_option_of_a_private_file_on_a_command_line(
    tmp_path: Path, typed: bool
) -> None:
    """One that the user typed stays where it was typed, where it counts."""
    key, flag = "spark.executor.extraJavaOptions", "-XX:+UseParallelGC"
    space = SearchSpace([replace(way, java=flag) for way in WAYS], 0, CURRENT, [], [])
    target = Quick(shape((8, 2)))
    keys = {key} if typed else set()
    with_both = f"-Dpassword=hush {flag}"
    tune.run(begin(tmp_path, space), target, {key: "-Dpassword=hush"}, StudyProgress(), keys)
    arm = next(arm for arm in target.arms if "x" in arm.name.split()[0])
    if typed:
        assert (dict(arm.conf)[key], arm.properties) == (with_both, None)
        return
    assert "hush" not in f"{[other.conf for other in target.arms]}"
    assert arm.properties is not None
    assert arm.properties.read_text() == f"{key}={with_both}\n"
    words = profile_words(arm, read_line(["--extra-properties-file", "mine", "x.py"]))
    assert words.index(str(arm.properties)) > words.index("mine"), "the last one counts"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a workload"),
        (["--budget", "0", "x.py"], "--budget: 0 … 1 and 1000"),
        (["--limit", "soon", "x.py"], "--limit: 'soon'"),
        (["nothere.py"], "'nothere.py'"),
        (["--html", "no/where.html", "word-count"], "--html: … no"),
        (["--dry-run", "--resume", "x", "word-count"], "--dry-run:"),
        (["word-cuont"], "word-count"),
        (["batch"], "batch … such as"),
    ],
)  # fmt: skip
def test_bad_words_are_refused_by_name(
    refused: Callable[..., str], words: list[str], said: str
) -> None:
    assert says(refused("tune", *words), said)


def kept(**given: object) -> TunedConfig:
    usual: dict[str, Any] = {
        "tune": "t-1", "date": "2026-11-23T07:00:00+00:00", "sentence": "Best: 2x1 G1GC.",
        "master": None, "executors": 2, "cores": 1, "unbound": False,
        "conf": {"spark.sql.shuffle.partitions": "64"},
        "java": {"spark.executor.extraJavaOptions": "-XX:+UseG1GC"},
    }  # fmt: skip
    return {**usual, **given}  # type: ignore[typeddict-item]


def keep(state: Path, application: Path) -> None:
    keep_tuned(state, str(application.resolve()), kept())


@pytest.fixture
def job(tmp_path: Path) -> Path:
    file = tmp_path / "job.py"
    file.write_text("")
    return file


def test_submit_tuned_runs_it_as_the_tune_found_best_and_says_which(
    hearth: Command, tmp_path: Path, job: Path
) -> None:
    keep(tmp_path / "state", job)
    dry = hearth("submit", "--dry-run", "--tuned", str(job))
    assert "tuned on 2026-11-23 (t-1): Best: 2x1 G1GC." in dry.stderr
    assert "local-numa[2x1]" in dry.stdout
    assert "spark.executor.extraJavaOptions=-XX:+UseG1GC" in dry.stdout
    assert "spark.sql.shuffle.partitions=64" in dry.stdout
    assert "tuned" not in hearth("submit", "--dry-run", str(job)).stderr


def test_what_you_fix_wins_over_what_was_tuned(hearth: Command, tmp_path: Path, job: Path) -> None:
    keep(tmp_path / "state", job)
    conf = ("--conf", "spark.sql.shuffle.partitions=7", "--executors", "1", "--cores", "2")
    java = ("--conf", "spark.executor.extraJavaOptions=-Da=b")
    dry = hearth("submit", "--dry-run", "--tuned", *conf, *java, str(job))
    assert "local-numa[1x2]" in dry.stdout
    assert "spark.sql.shuffle.partitions=7" in dry.stdout
    assert "partitions=64" not in dry.stdout
    assert "-Da=b -XX:+UseG1GC" in dry.stdout
    assert "yours instead: executors, cores, spark.sql.shuffle.partitions" in dry.stderr


def test_tuned_without_a_result_for_this_application_is_refused(
    hearth: Command, tmp_path: Path, job: Path
) -> None:
    keep(tmp_path / "state", tmp_path / "other.py")
    dry = hearth("submit", "--dry-run", "--tuned", str(job))
    assert dry.returncode == 2
    assert "--tuned: " in dry.stderr and "run 'hearth tune" in dry.stderr


def test_a_workload_is_run_as_its_tune_found_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path))
    asked: list[tuple[cases.Case, str]] = []

    def run(offer: object, case: cases.Case, master: str, **_: object) -> None:
        asked.append((case, master))
        raise runner.RunError("far enough", [])

    monkeypatch.setattr(cases, "run", run)
    assert main(["lab", "run", "word-count", "--tuned"]) == 2
    assert "run 'hearth tune word-count' first" in capsys.readouterr().err
    keep_tuned(tmp_path, workload_named("word-count"), kept(unbound=True))
    conf = ["--conf", "spark.sql.shuffle.partitions=7"]
    assert main(["lab", "run", "word-count", "--tuned", *conf]) == 1
    ((case, master),) = asked
    assert master == "local-numa[2x1]"
    assert case.conf == {
        "spark.sql.shuffle.partitions": "7",
        "spark.executor.extraJavaOptions": "-XX:+UseG1GC",
        "spark.hearth.binding": "off",
    }
    assert "tuned on 2026-11-23 (t-1)" in capsys.readouterr().err


def test_the_page_shows_trials_and_the_surface_with_its_uncertainty(tmp_path: Path) -> None:
    document = made(tmp_path, Quick(shape((8, 2))))
    html = page([], typed(document, Tuned))
    assert html.count("<tr>") >= len(document["trials"])
    (best,) = re.findall(r'<td class="best"[^>]*>([^<]*)</td>', html)
    assert best.startswith("1") and "±" in best and best.endswith("*")
    sized = {(way.executors, way.cores) for way in WAYS if way.executors}
    executors, cores = ({pair[at] for pair in sized} for at in (0, 1))
    assert html.count("±") - 1 == len(sized), "and once in the note"
    assert html.count('class="untested"') == len(executors) * len(cores) - len(sized)
    assert document["application"] in html and "Stopped: " in html
    for part in ("Trials in their order", "To run it:", "Next: ", "best of those not tried"):
        assert part in html
    hostile = {**document, "application": "<script>alert(1)</script>"}
    assert "<script>alert" not in page([], typed(hostile, Tuned))


def test_ctrl_c_says_how_to_go_on_and_going_on_ends_the_tune(
    tmp_path: Path,
    job: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(command, "_space", lambda *of: (SPACE, MACHINE))
    first, then = Quick(shape((8, 2)), ends_at=3, ends_by=interrupted), Quick(shape((8, 2)))
    monkeypatch.setattr(command, "_target", lambda options: (first, SubmitLine()))
    assert main(["tune", str(job)]) == 130
    (number,) = (folder.name for folder in (tmp_path / "state" / "studies" / "tune").iterdir())
    said = f"'hearth tune --resume {number}' continues from here"
    assert said in capsys.readouterr().err
    monkeypatch.setattr(command, "_target", lambda options: (then, SubmitLine()))
    assert main(["tune", "--resume", number]) == 0
    assert len(first.arms) == 3
    assert len(read_tune(tmp_path / "state" / "studies" / "tune" / number).trials) == 3 + len(
        then.arms
    )
    kept_file = kept_tuned(tmp_path / "state", str(job.resolve()))
    assert kept_file is not None and kept_file["tune"] == number
