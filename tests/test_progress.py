"""How far long work is: live lines on a terminal, plain ones elsewhere, a clean end always."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.base.progress import answer_of, tick, working
from hearth.studies.engine.progress import Pace, StudyProgress
from hearth.studies.engine.trial import Trial, Turn

#: Three runs of two arms, each drawn a few times, the last one interrupted where that is asked for.
PROGRAM = """
import os, signal, sys
from hearth.studies.engine.schedule import StudyDesign, Repetitions, conduct
from hearth.studies.engine.progress import StudyProgress, continued_with
from hearth.studies.engine.trial import Trial
from hearth.base.progress import tick, working
from hearth.base.terminal import escaping_output

def run(turn):
    with working("the job \\x1b]0;owned\\x07 runs"):
        tick()
        print("hearth: a warning of \\x1b[2J" + " a very long line" * 9, file=sys.stderr)
        if sys.argv[1:] and turn.repetition == 2:
            os.kill(os.getpid(), signal.SIGINT)
        tick()
    return Trial(turn, seconds=1.5)

with escaping_output():
    progress = StudyProgress()
    with continued_with("compare --resume c-1"), progress.shown():
        schedule = Repetitions(StudyDesign({"app": ["bound"]}, 3))
        conduct(schedule, run, lambda _: None, progress=progress)
print("after")
"""
#: A process that answers after so many seconds.
WAITS = """
import subprocess, sys
from hearth.base.progress import answer_of
words = ["sh", "-c", "read said; sleep %s; echo $said"]
process = subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1, text=True)
print(answer_of(process, "yes", "reading the machine")[0])
"""
DRAWN = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\r")


def on_a_terminal(*words: str, program: str = PROGRAM, **environment: str) -> str:
    """What the program writes to a terminal of its own, on both streams."""
    leader, follower = pty.openpty()
    variables = {"TERM": "xterm-256color", "COLUMNS": "120", "PATH": os.environ["PATH"]}
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        env={**variables, **environment}, stdout=follower, stderr=follower,
    ):  # fmt: skip
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(leader)
    return shown.decode()


def test_a_terminal_shows_which_run_goes_on_what_it_does_and_for_how_long() -> None:
    shown = on_a_terminal()
    plain = DRAWN.sub("", shown)
    assert re.search(r"run 1/3: bound, run 1 +━+ +[0-9]+ s so far", plain)
    assert re.search(r"run 2/3: bound, run 2 +[━╸╺]+ +[0-9]+ s so far, about [0-9]+ s left", plain)
    assert re.search(r"the job \\x1b\]0;owned\\x07 runs +[0-9]+ s so far", plain)


def test_lines_that_are_printed_stay_above_unbroken_and_nothing_stays_below() -> None:
    shown = on_a_terminal()
    assert "hearth: a warning of \\x1b[2J" + " a very long line" * 9 + "\r\n" in shown
    assert [DRAWN.sub("", line) for line in re.findall(r"hearth: \d/3.*", shown)] == [
        f"hearth: {number}/3  bound, run {number}: 1.50 s" for number in (1, 2, 3)
    ]
    assert DRAWN.sub("", shown.rpartition("\x1b[2K")[2]).split() == ["after"]
    assert "\x1b[?25l" not in shown, "a cursor that is hidden stays so after a kill"


def test_ctrl_c_leaves_a_clean_line_and_says_how_to_go_on() -> None:
    shown = on_a_terminal("interrupt")
    left = DRAWN.sub("", shown.rpartition("\x1b[2K")[2]).splitlines()
    assert left[0] == "hearth: 'hearth compare --resume c-1' continues from here"
    assert shown.count("1.50 s") == 2


def test_no_color_takes_the_colours_and_a_dumb_terminal_gets_plain_lines() -> None:
    colours = re.compile(r"\x1b\[[0-9;]*(3[0-9]|38;[0-9;]+)m")
    assert colours.search(on_a_terminal())
    assert not colours.search(on_a_terminal(NO_COLOR="1"))
    dumb = on_a_terminal(TERM="dumb").splitlines()
    lines = [f"hearth: {n}/3  bound, run {n}: 1.50 s" for n in (1, 2, 3)]
    assert [line for line in dumb if "a warning" not in line] == [*lines, "after"]


def test_a_pipe_gets_a_plain_line_for_each_run_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if "a warning" not in line]
    assert lines == [f"hearth: {n}/3  bound, run {n}: 1.50 s" for n in (1, 2, 3)]


def test_time_left_follows_from_runs_that_ended_and_none_is_claimed_before() -> None:
    a, b, other = Turn("job", "a", 1), Turn("job", "b", 1), Turn("other", "a", 1)
    assert Pace().left_s(a, 5.0, [b]) is None
    pace = Pace([(Turn("job", "a", -1), 10.0), (Turn("job", "a", 0), 20.0)])
    assert pace.left_s(a, 5.0, []) == 10.0
    assert pace.left_s(a, 99.0, [a]) == 15.0, "a run that takes longer than the others"
    assert pace.left_s(b, 0.0, [other]) == 30.0
    pace.taken.append((Turn("job", "b", 0), 60.0))
    assert pace.left_s(a, 0.0, [b, other]) == 15.0 + 60.0 + 30.0


def test_runs_that_ended_before_are_counted_and_those_of_later_questions_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = StudyProgress(with_subject=True)
    progress.ended(2)
    progress.question, progress.later = "sweep", [Turn("app", "1x2", 0)] * 3
    turn = Turn("app", "2x1", -1)
    progress.run(turn, [turn], lambda turn: Trial(turn, failure="broken"))
    assert capsys.readouterr().err == "hearth: 3/7  app, sweep: 2x1, warm-up: failed: broken\n"
    assert progress.failed


def test_where_there_is_no_terminal_nothing_is_loaded_or_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with working("the job runs") as work:
        work.show(1, 2)
        tick()
    assert capsys.readouterr().err == ""


def test_a_wait_of_a_second_has_a_word_on_a_terminal_and_a_short_one_none() -> None:
    long, short = (on_a_terminal(program=WAITS % seconds) for seconds in ("1.6", "0"))
    assert "reading the machine" in long and DRAWN.sub("", long).endswith("yes\n\n")
    assert "reading" not in short and "yes" in short


def test_a_wait_ends_at_its_limit() -> None:
    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, text=True) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            answer_of(process, None, "waiting", limit_s=0.3)
        process.kill()


def test_after_the_first_run_the_shortest_and_the_longest_rest_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = iter((0.0, 30.0, 30.0, 60.0))
    progress = StudyProgress(at_most=True, fewest=4, clock=lambda: next(now))
    turns = [Turn("app", "bound", repetition) for repetition in range(9)]
    for at in (0, 1):
        progress.run(turns[at], turns[at + 1 :], lambda turn: Trial(turn, seconds=1.5))
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("1.50 s; about 1 min 30 s to 4 min 00 s left")
    assert second.endswith("1.50 s")
