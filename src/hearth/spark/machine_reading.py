"""The machine of a run, read while its application starts: the record's `machine.json`."""

import subprocess

from hearth.base.codec import load_document
from hearth.base.java import reason_of
from hearth.machine import jvm
from hearth.record.schema import RecordedMachine
from hearth.record.store import MACHINE, RecordWriter, write_document

_GRACE_S = 20.0


class MachineReading:
    """A reading that runs alongside the application, from its start to `machine.json`."""

    def __init__(self, writer: RecordWriter, command: list[str]) -> None:
        self._writer = writer
        self._part = writer.directory / f".{MACHINE}"
        self._verb: subprocess.Popen[str] | None = jvm.begin(command, self._part)

    def look(self, *, final: bool = False) -> None:
        """Move the document into place once it is complete; `final` waits for it."""
        if self._verb is None or (not final and self._verb.poll() is None):
            return
        try:
            output = self._verb.communicate(timeout=_GRACE_S)[1]
        except subprocess.TimeoutExpired:
            self._verb.kill()
            output = self._verb.communicate()[1] + f"no answer within {_GRACE_S:.0f} s"
        code, self._verb = self._verb.returncode, None
        last = reason_of(output) or f"java ended with {code}"
        try:
            machine = load_document(self._part, RecordedMachine) if code == 0 else None
        except (OSError, ValueError):  # a disk that is full, which java does not notice
            machine, last = None, "the answer is cut off: is the disk full?"
        if machine is not None:
            self._part.replace(self._writer.directory / MACHINE)
            return
        self._part.unlink(missing_ok=True)
        write_document(self._writer.directory / MACHINE, {"absent": f"not read: {last}"})
        self._writer.warn(f"the machine could not be read: {last}", "'hearth topology' shows why")
