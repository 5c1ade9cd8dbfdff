"""`hearth runs`: lists and deletes what is on record, in whatever state it was left."""

import json
import os
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

import hearth.record.store as record_module
from hearth.base.absent import Absent
from hearth.base.errors import UserError
from hearth.cli.options import read_line
from hearth.record.event_log_link import UsersEventLog
from hearth.record.schema import Launched, RecordedMachine
from hearth.record.store import (
    RecordWriter,
    claimed,
    find_record,
    list_records,
    new_directory,
    read_record,
)
from hearth.spark.machine_reading import MachineReading
from hearth.studies.characterise.questions import Question
from hearth.studies.characterise.result import CharacterisationSettings
from hearth.studies.characterise.study import Characterisation, TargetQuestion
from hearth.studies.compare.result import ComparisonSettings
from hearth.studies.compare.study import Comparison
from hearth.studies.engine.arms import Arm
from hearth.studies.engine.store import Opening
from hearth.studies.engine.target import ApplicationTarget
from hearth.studies.engine.trial import Trial, Turn
from hearth.studies.listing import find_run_or_study, list_studies
from support import Command, json_lines, require

LONG_GONE = {"pid": 1, "start_ticks": 1}


def made(state: Path, name: str, end: int | None = 0, owner: dict | None = None) -> RecordWriter:
    """A record as a run leaves it; `end` is its exit code, None where nobody wrote the end."""
    head = Launched(master="local[2]")
    writer = RecordWriter.create(new_directory(state, name), name, head)
    if owner is not None:
        file = writer.directory / "record.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "owner": owner}))
    if end is not None:
        writer.finish("finished" if end == 0 else "failed", end, wall_s=1.5)
    return writer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("echo half; echo 'no CPU is allowed' >&2; exit 2", "no CPU is allowed"),
        ("echo '{\"schema\": '", "the answer is cut off: is the disk full?"),
    ],
)
def test_a_machine_that_could_not_be_read_is_told_with_the_reason(
    tmp_path: Path, answer: str, reason: str
) -> None:
    writer = made(tmp_path, "unread")
    reading = MachineReading(writer, ["sh", "-c", answer])
    reading.look(final=True)
    reading.look(final=True)  # what is done is not done again
    assert read_record(writer.directory).machine == Absent(f"not read: {reason}")
    (warning,) = json_lines(writer.directory / "warnings.jsonl")
    assert warning["what"] == f"the machine could not be read: {reason}"
    assert not list(writer.directory.glob(".machine*"))


def test_a_machine_that_is_being_read_is_absent_until_it_is_whole(tmp_path: Path) -> None:
    writer = made(tmp_path, "reading", end=None)
    answer = "printf '{\"schema\": '; read -r _ < go; echo '\"whole\"}'"
    os.mkfifo(writer.directory / "go")
    command = ["sh", "-c", f"cd '{writer.directory}'; {answer}"]
    reading = MachineReading(writer, command)
    reading.look()
    assert isinstance(read_record(writer.directory).machine, Absent)
    (writer.directory / "go").write_text("\n")
    reading.look(final=True)
    assert isinstance(read_record(writer.directory).machine, RecordedMachine)


def test_the_log_of_another_user_in_a_shared_folder_is_not_taken_for_the_runs_own(
    tmp_path: Path,
) -> None:
    if os.geteuid():
        require("root", "a file of another user's has to be made")
    writer = made(tmp_path, "shared", end=None)
    shared = tmp_path / "logs"
    shared.mkdir()
    log = UsersEventLog(writer, str(shared))
    (shared / "app-1").write_text("another's")
    os.chown(shared / "app-1", 65534, 65534)
    log.look(final=True)
    assert not list((writer.directory / "eventlog").iterdir())
    rolled = shared / "eventlog_v2_app-2"
    rolled.mkdir()
    os.mkfifo(rolled / "events_1_app-2")
    with pytest.raises(OSError, match="is not a file"):
        log.look(final=True)


def test_runs_are_listed_with_their_state(hearth: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    made(state, "Well Done.py")
    made(state, "failing", end=3)
    made(state, "killed", end=None, owner=LONG_GONE)
    made(state, "running", end=None)  # its owner is this test
    listed = hearth("runs", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    runs = json.loads(listed.stdout)["runs"]
    states = {run["application"]: run["state"] for run in runs}
    assert states == {
        "Well Done.py": "finished",
        "failing": "failed",
        "killed": "killed",
        "running": "running",
    }
    assert all(run["size_bytes"] > 0 for run in runs)
    text = hearth("runs").stdout
    assert "-well-done-py-" in text
    assert len(text.splitlines()) == 5


def test_a_run_whose_owner_has_no_known_start_is_over(tmp_path: Path) -> None:
    gone = {"pid": 999_999_999, "start_ticks": None}
    assert read_record(made(tmp_path, "old", end=None, owner=gone).directory).state == "killed"


def test_nothing_on_record_says_how_to_make_one(hearth: Command) -> None:
    none = "no run is recorded: 'hearth submit' and 'hearth profile APPLICATION' make one\n"
    assert hearth("runs").stdout == none


def test_a_run_is_deleted_by_id_and_a_running_one_is_not(hearth: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    over, running = made(state, "over"), made(state, "running", end=None)
    refused = hearth("runs", "delete", "--yes", over.directory.name, running.directory.name)
    assert refused.returncode == 2
    assert f"is running (process {os.getpid()})" in refused.stderr
    assert over.directory.exists()
    unasked = hearth("runs", "delete", over.directory.name, stdin=-3)
    assert (unasked.returncode, over.directory.exists()) == (2, True)
    assert hearth("runs", "delete", "--yes", over.directory.name).returncode == 0
    assert [record.id for record in list_records(state)[0]] == [running.directory.name]


def test_runs_older_than_an_age_are_deleted(hearth: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    old, fresh = made(state, "old"), made(state, "fresh")
    file = old.directory / "record.json"
    aged = {**json.loads(file.read_text()), "started": "2020-01-01T00:00:00.000+00:00"}
    file.write_text(json.dumps(aged))
    assert hearth("runs", "delete", "--older-than", "30d", "--yes").returncode == 0
    assert [record.id for record in list_records(state)[0]] == [fresh.directory.name]


def test_a_run_is_found_by_the_beginning_or_the_end_of_its_id(tmp_path: Path) -> None:
    first, second = made(tmp_path, "job"), made(tmp_path, "job")
    name = second.directory.name
    assert find_record(tmp_path, name[-4:]).id == name
    assert find_record(tmp_path, "last").id in (first.directory.name, name)
    with pytest.raises(UserError, match="matches 2 records"):
        find_record(tmp_path, name[:4])
    with pytest.raises(UserError, match="no run 'other'"):
        find_record(tmp_path, "other")


def test_a_record_that_cannot_be_written_is_named() -> None:
    with pytest.raises(UserError, match="the record cannot be written to '/proc/none/records"):
        made(Path("/proc/none"), "x")


def test_comparisons_and_characterisations_are_in_the_same_listing(
    hearth: Command, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    made(state, "job")
    arms = [Arm("native"), Arm("bound")]
    alone = Comparison.begin(state, "job.py", arms, ComparisonSettings(0, 1))
    alone.keep(Trial(Turn("job.py", "native", 0), 1.0))
    asked = [
        TargetQuestion(
            ApplicationTarget(read_line(["job.py"])),
            Question("smt", "Threads", "a paper", unanswerable="one core"),
        )
    ]
    whole = Characterisation.begin(state, "job.py", asked, CharacterisationSettings(1, 0, 1))
    (state / "studies" / "compare" / "damaged").mkdir()
    done = hearth("runs")
    _, *rows = done.stdout.splitlines()
    assert len(rows) == 3
    (comparison,) = [row for row in rows if alone.head.id in row]
    assert "comparison: native, bound" in comparison and "1 run " in comparison
    assert any(whole.directory.name in row and "characterisation: smt" in row for row in rows)
    assert "damaged" in done.stderr and done.returncode == 0
    experiments = json.loads(hearth("runs", "list", "--json").stdout)["experiments"]
    assert {kept["kind"] for kept in experiments} == {"comparison", "characterisation"}


def test_one_rule_for_ids_finds_runs_and_studies_alike(hearth: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    run = made(state, "job").directory.name
    arms = [Arm("native"), Arm("bound")]
    settings = ComparisonSettings(0, 1)

    def again(number: str | None = None) -> str:
        return Comparison.begin(state, "job.py", arms, settings, Opening(resume=number)).head.id

    kept = [again() for _ in range(2)]
    # One letter more than it has in common with the other.
    beginning = next(kept[0][:n] for n in range(1, 99) if not kept[1].startswith(kept[0][:n]))
    for name in (kept[0], kept[0][-4:], beginning):
        kind, directory = find_run_or_study(state, name)
        assert kind is not None and (kind.name, directory.name) == ("comparison", kept[0])
        assert again(name) == kept[0]
    assert find_run_or_study(state, run[-4:]) == find_run_or_study(state, "last")
    assert Comparison.begin(state, "job.py", arms, settings, Opening(resume="last")).head.id == max(
        kept
    )
    with pytest.raises(UserError, match="matches 3 runs and studies: choose from"):
        find_run_or_study(state, run[:4])
    assert "no run of native has ended" in hearth("report", kept[0][-4:]).stdout
    assert hearth("runs", "delete", "--yes", kept[0][-4:]).stdout.endswith("deleted 1\n")
    assert [each.id for each in list_studies(state)[0]] == kept[1:]


def test_the_list_is_cut_by_kind_and_number_and_fits_a_terminal(
    hearth: Command, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    runs = [made(state, "a job with quite a long name").directory.name for _ in range(3)]
    alone = Comparison.begin(
        state, "job.py", [Arm("native"), Arm("bound")], ComparisonSettings(0, 1)
    )
    narrow = hearth("runs", environment={"COLUMNS": "80"}).stdout.splitlines()
    assert len(narrow) == 5 and max(map(len, narrow)) <= 80
    assert all(any(name[:30] in line for line in narrow) for name in (*runs, alone.head.id))
    (_, only) = hearth("runs", "list", "--kind", "comparison").stdout.splitlines()
    assert alone.head.id in only
    (_, first, second) = hearth("runs", "--kind", "run", "--last", "2").stdout.splitlines()
    assert {first.split()[0], second.split()[0]} <= set(runs)


def test_the_last_run_is_reported_from_anywhere(hearth: Command, tmp_path: Path) -> None:
    made(tmp_path / "state", "the-last-one")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "last").mkdir(parents=True)
    done = hearth("report", "last", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert "the-last-one" in done.stdout


def test_two_runs_of_one_second_never_share_a_record_whatever_names_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([b"\x3f\xa9", b"\x3f\xa9", b"\x3f\xa9", b"\x77\x01"])
    monkeypatch.setattr(record_module.os, "urandom", lambda _: next(drawn))
    monkeypatch.setattr(record_module, "datetime", Noon)
    first = new_directory(tmp_path, "job")
    second = new_directory(tmp_path, "job")
    assert [path.name.rpartition("-")[2] for path in (first, second)] == ["3fa9", "7701"]
    assert list_records(tmp_path) == ([], []), "a name alone is no record"


class Noon(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Noon":
        return cls(2026, 11, 21, 12, 0, 0, tzinfo=tz)


def test_of_two_processes_that_were_given_one_name_the_second_is_refused(tmp_path: Path) -> None:
    both = [new_directory(tmp_path, "job", "mine") for _ in range(2)]
    writer = RecordWriter.create(both[0], "job", Launched(master="first"))
    with pytest.raises(UserError, match="--record: 'mine' is there already: give a new id"):
        RecordWriter.create(both[1], "job", Launched(master="second"))
    assert read_record(writer.directory).head.master == "first"


def test_a_name_whose_run_never_began_is_given_back(tmp_path: Path) -> None:
    with pytest.raises(UserError), claimed(tmp_path, "job") as directory:
        raise UserError("the application is not there")
    assert not directory.exists()
    with claimed(tmp_path, "job") as directory:
        RecordWriter.create(directory, "job", Launched(master="local[2]"))
    assert [record.directory for record in list_records(tmp_path)[0]] == [directory]


def test_where_no_study_is_kept_it_says_what_lists_the_rest(hearth: Command) -> None:
    none = "no tune is kept: 'hearth runs' lists what there is\n"
    assert hearth("runs", "list", "--kind", "tune").stdout == none
