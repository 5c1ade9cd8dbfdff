"""`hearth colocate` with what cannot be run: each is refused by name before anything runs."""

from pathlib import Path

import pytest

from hearth.cli.main import main
from support import says

REFUSED = {
    "": "name a workload",
    "a.py": "1 application … 2 to 64",
    "a.py --": "an application is missing",
    "--split 2-2 -- b.py": "an application is missing",
    "--from last a.py -- b.py": "--from: 1 … 2 applications",
    "--dry-run --machine x a.py -- b.py": "--machine:",
    "--dry-run --resume x a.py -- b.py": "--dry-run:",
    "--limit 0s a.py -- b.py": "--limit: '0s'",
    "--minutes 5 a.py -- b.py": "--minutes: … --loop MINUTES",
    "--loop long a.py -- b.py": "--loop: 'long' … 90,15",
    "--loop 20,10 a.py -- b.py": "20 minutes",
    "--loop nan a.py -- b.py": "nan minutes",
    "--arms split,bound a.py -- b.py": "--arms: 'bound' … split, unbound, whole",
    "--arms split,unbound a.py -- b.py": "--arms: 'split,unbound' … serial",
    "--objective speed a.py -- b.py": "'speed'",
    "--repeat 0 a.py -- b.py": "--repeat: 0",
    "--bind none a.py -- b.py": "--bind:",
    "app.py -- --docker b.py": "--docker:",
    "--frobnicate a.py -- b.py": "'--frobnicate'",
    "--split 1-1 nowhere.py -- b.py": "'nowhere.py'",
    "--master local[2] app.py -- app.py": "--master: app.py: 'local[2]'",
    "--applications two.txt a.py -- b.py": "--applications:",
    "--applications nowhere.txt": "--applications: 'nowhere.txt'",
    "--applications torn.txt": "--applications: 'torn.txt', line 2: No closing quotation",
    "--applications one.txt": "1 application",
}


@pytest.mark.parametrize("words", REFUSED)
def test_it_is_refused_in_one_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEARTH_STATE", str(tmp_path / "state"))
    (tmp_path / "app.py").write_text("")
    (tmp_path / "one.txt").write_text("# nothing\n\na.py --day 1\n")
    (tmp_path / "torn.txt").write_text("a.py\nb.py 'x\n")
    assert main(["colocate", *words.split()]) == 2
    said = capsys.readouterr()
    assert says(said.err, REFUSED[words]) and said.err.count("\n") == 1 and not said.out
    assert not (tmp_path / "state" / "studies").exists()
