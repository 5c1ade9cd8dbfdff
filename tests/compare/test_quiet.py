"""Other programs before a run: a warning, or waiting until they are done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.studies.engine.progress import Quiet, StudyProgress, busy_share
from hearth.studies.engine.trial import Trial, Turn

TURN = Turn("job", "native", 0)


def looks(*shares: float | None) -> Callable[[], float | None]:
    """These, one after the other; the last one again and again."""
    left = list(shares)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def ticking() -> Callable[[], float]:
    """A clock on which a second passes at each look at it."""
    seconds = iter(range(10_000))
    return lambda: float(next(seconds))


def runs(quiet: Quiet, number: int = 1) -> None:
    progress = StudyProgress(quiet=quiet)
    for _ in range(number):
        progress.run(TURN, [], lambda turn: Trial(turn, seconds=1.0))


def test_a_busy_machine_is_said_once_before_the_first_run_with_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs(Quiet(look=looks(0.63)), number=2)
    err = capsys.readouterr().err
    warning = "warning: other programs use 63% of the CPUs, so times will scatter"
    assert err.count(warning) == 1 and "--wait-quiet 10m" in err
    assert err.index(warning) < err.index("run 1: 1.00 s")


@pytest.mark.parametrize("share", [0.05, None])
def test_nothing_is_said_of_a_quiet_machine_or_of_one_that_does_not_tell(
    share: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    runs(Quiet(look=looks(share)))
    assert "warning" not in capsys.readouterr().err


def test_it_waits_before_each_run_until_the_machine_is_quiet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shares = [0.9, 0.8, 0.02, 0.7, 0.03, 0.99]
    asked = iter(shares)
    runs(Quiet(wait_s=600, look=lambda: next(asked), clock=ticking()), number=2)
    assert list(asked) == [0.99], "the first run waits for 2 looks, the second for one"
    assert "warning" not in capsys.readouterr().err


def test_it_does_not_wait_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    runs(Quiet(wait_s=5, look=looks(0.5), clock=ticking()))
    err = capsys.readouterr().err
    assert "other programs use 50% of the CPUs after 5 s of waiting: the next run goes on" in err


def test_the_share_is_of_the_cpus_allowed_here_and_no_program_is_blamed_for_the_hypervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    # user nice system idle iowait irq softirq steal
    before = "cpu  0 0 0 0 0 0 0 0\ncpu0 100 0 50 1000 0 0 0 0\ncpu7 0 0 0 0 0 0 0 0\n"
    after = "cpu  0 0 0 0 0 0 0 0\ncpu0 120 0 60 1040 10 0 0 20\ncpu7 100 0 0 0 0 0 0 0\n"
    stat.write_text(before)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert busy_share(lambda _: stat.write_text(after) and None, stat) == pytest.approx(0.3)
    assert busy_share(lambda _: None, tmp_path / "none") is None
