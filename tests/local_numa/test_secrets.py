"""Secrets planted at every level, and searched for in all that is written, printed and listed."""

import os
import subprocess
import time
from pathlib import Path

from application import APPS, Site

from support import command as hearth_command

MARK = "c4n4ry"
#: Of a name that tells nothing: kept as it is, but on no command line either.
PLAIN = "pl41n"
#: In the application's own arguments: the user's command line shows it, nothing else may.
ARGUMENT = "4rgum3nt"
ARGUMENTS = (f"password={ARGUMENT}1", f"jdbc:postgresql://db/shop?user=me&password={ARGUMENT}2")
#: What the user keeps in a private file; no command line may show it.
FILE = f"""\
spark.authenticate true
spark.authenticate.secret {MARK}Auth
spark.ssl.keyPassword {MARK}Ssl
spark.executorEnv.DB_PASSWORD {MARK}Env
spark.hadoop.fs.s3a.access.key {MARK}S3
spark.executor.extraJavaOptions -Xss2m -Ddb.password={MARK}Java -Dplain={PLAIN}
spark.driver.extraJavaOptions -Ddriver.password={MARK}Driver -Dplain={PLAIN}
spark.my.url https://me:{MARK}Url@host/x.git
spark.ui.enabled false
"""


def command_lines(lines: set[str], ours: int) -> None:
    """Those that show a secret, but for those of `ours`."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        executors = ARGUMENT in words and "--executor-id" in words
        if (MARK in words or PLAIN in words or executors) and int(entry.parent.name) != ours:
            lines.add(words.replace("\0", " "))


def holders(root: Path, own: set[Path]) -> list[str]:
    """Files below a directory that hold a secret: all but the user's own."""
    files = []
    for file in root.rglob("*"):
        if not file.is_file() or file in own:
            continue
        if any(secret.encode() in file.read_bytes() for secret in (MARK, ARGUMENT)):
            files.append(str(file.relative_to(root)))
    return files


def test_no_secret_is_written_printed_or_listed_by_ps(site: Site) -> None:
    (site.root / "local").mkdir()
    file = site.root / "private.conf"
    file.write_text(f"{FILE}spark.local.dir {site.root / 'local'}\n")
    words = ["--properties-file", str(file), "--executors", "2", "--cores", "1", "--memory", "512m"]
    application = [str(APPS / "pause.py"), "2", "4", *ARGUMENTS]
    command = hearth_command("profile", "--log", "info", *words, *application)
    environment = {**site.environment, "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", "")}
    log = site.root / "driver.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=site.root, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    site.started.append(process)
    shown: set[str] = set()
    deadline = time.monotonic() + 400
    while process.poll() is None and time.monotonic() < deadline:
        command_lines(shown, process.pid)
        time.sleep(0.05)
    assert process.returncode == 0, log.read_text()[-3000:]
    assert shown == set()
    # Spark's own event log hides what Spark hides; a URL is no secret to it.
    events = set((site.root / "state").rglob("eventlog/*"))
    assert holders(site.root, {file, *events}) == []
    assert "fixed by the user" in log.read_text()
    # Spark and the JVM give the event log and GC logs modes of their own, in closed directories.
    theirs = {*events, *(site.root / "state").rglob("gc/*.log")}
    state = {site.root / "state", *(site.root / "state").rglob("*")} - theirs
    assert [str(path) for path in state if path.lstat().st_mode & 0o077] == []
    for verb in (("report", "last", "--json"), ("status", "--all")):
        done = subprocess.run(
            hearth_command(*verb), env=environment, cwd=site.root, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        assert MARK not in done.stdout + done.stderr
        assert ARGUMENT not in done.stdout + done.stderr
