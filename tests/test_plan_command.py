"""The command that `hearth submit` names for all of its plan."""

from hearth.cli.commands.submit import plan_command
from hearth.cli.options import read_line


def test_the_plan_is_named_by_the_command_that_shows_it() -> None:
    words = "--input 2g --executors 2 --conf a.password=x --conf b=c job.py"
    assert plan_command(read_line(words.split())) == (
        "hearth plan --input 2g --executors 2 --python "
        "--conf 'a.password=*********(redacted)' --conf b=c"
    )
