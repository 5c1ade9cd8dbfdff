"""The Python in which an application runs: the one that plain Spark would take.

hearth may be installed in an environment of its own (`uv tool install`, pipx), which has nothing of
what the application imports.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_KEYS = ("spark.pyspark.python", "spark.pyspark.driver.python")
#: What an activated environment sets (venv; conda).
_ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")


def python_of_application(
    settings: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[dict[str, str], str]:
    """Variables that make Spark take the user's Python, and a line where it is not hearth's own.

    An activated environment comes before the first python3 of the path, and that before hearth's
    own. Nothing, where the user has told Spark which to take.
    """
    if any(environment.get(name) for name in _VARIABLES) or any(key in settings for key in _KEYS):
        return {}, ""
    for name in _ACTIVATED:
        if environment.get(name):
            found = shutil.which("python3", path=f"{environment[name]}/bin")
            if found:
                return _chosen(found, f"the environment in {name}")
    on_path = shutil.which("python3", path=environment.get("PATH"))
    return _chosen(on_path or sys.executable, "the first python3 of the PATH")


def _chosen(python: str, why: str) -> tuple[dict[str, str], str]:
    """Without a line where it is hearth's own: its folder tells environments apart, not its file,
    which is usually a link to the same Python.
    """
    own = Path(sys.executable)
    if os.path.realpath(Path(python).parent) == os.path.realpath(own.parent):
        return {"PYSPARK_PYTHON": str(own)}, ""
    line = f"the application runs in {python} ({why}), not in hearth's own Python: "
    return {"PYSPARK_PYTHON": python}, line + "PYSPARK_PYTHON chooses another"
