"""The command line and the driver look for hearth's state and cache in the same place."""

import json
import os
import pwd
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.machine import paths
from support import ROOT

#: What the JVM side is held against too (OwnFilesTest).
CASES = json.loads((ROOT / "fixtures" / "homes.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_state_and_cache_are_where_the_driver_looks_for_them(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "HEARTH_STATE", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in case["environment"].items():
        monkeypatch.setenv(name, value)
    user = SimpleNamespace(pw_dir=case["user_home"])
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user if uid == os.getuid() else None)
    assert str(paths.state_home()) == case["state"]
    assert str(paths.cache_home()) == case["cache"]
