"""The environment in which spark-submit runs: what `spark-env.sh` makes of the caller's.

Every script of Spark's sources it first (bin/load-spark-env.sh): what it sets overrides the
caller's environment.
"""

import os
import shutil
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

from hearth.base.errors import UserError
from hearth.spark.conf import conf_folder

_LIMIT_S = 60
# What the script prints is not part of the answer, and no descriptor is free: it may use any.
_SOURCE = 'exec >&2; set -a; . "$0"; exec {env} -0 >|/proc/{pid}/fd/{answer}'
_SHELLS_OWN = ("_", "SHLVL", "PWD", "OLDPWD")


def load_spark_env(spark_home: Path, environment: MutableMapping[str, str]) -> None:
    """Changes `environment` as spark-env.sh does, where there is one and no script has read it.

    Raises UserError where the script fails or ends the shell that reads it.
    """
    script = conf_folder(spark_home, environment) / "spark-env.sh"
    if environment.get("SPARK_ENV_LOADED") or not script.is_file():
        return
    given = {**environment, "SPARK_HOME": str(spark_home), "SPARK_CONF_DIR": str(script.parent)}
    result = _sourced(script, given)
    for name in set(environment) - set(result):
        del environment[name]
    changed = {name: value for name, value in result.items() if given.get(name) != value}
    environment.update({n: v for n, v in changed.items() if n not in _SHELLS_OWN})


def _sourced(script: Path, environment: dict[str, str]) -> dict[str, str]:
    answer = os.memfd_create("spark-env")
    try:
        _source(script, environment, answer)
        os.lseek(answer, 0, os.SEEK_SET)
        with open(answer, "rb", closefd=False) as file:
            words = os.fsdecode(file.read()).split("\0")
    finally:
        os.close(answer)
    found = dict(word.split("=", 1) for word in words if "=" in word)
    if not found:
        raise UserError(
            f"{script}: it ends the shell that reads it (exit), and spark-submit with it: "
            "let it end with 'return', or without"
        )
    return found


def _source(script: Path, environment: dict[str, str], answer: int) -> None:
    """Have a shell read the script, and write its environment to the file `answer`."""
    env = shutil.which("env") or "env"  # the script may change the path
    code = _SOURCE.format(env=env, pid=os.getpid(), answer=answer)
    try:
        done = subprocess.run(
            ["bash", "-c", code, str(script)],
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"{script}: it did not end within {_LIMIT_S} s, and spark-submit reads it too: "
            "correct it"
        ) from error
    if done.returncode:
        raise UserError(
            f"{script}: it ends with exit code {done.returncode}, and spark-submit reads it too: "
            "correct it"
        )
