"""What commands write down about themselves: a line when they begin, one at each beat, and one when they end.

All commands of a run append to one file outside of the server's data. Each line is one write, so the order of the lines
is the order in which things happened, whatever a killed server says about it.
"""

import time
from pathlib import Path
from typing import NamedTuple

SCRIPT = """\
exec 3>>"$1"
note() { read -r at rest < /proc/uptime; echo "$1 $DOVETAIL_TASK $DOVETAIL_ATTEMPT $at" >&3; }
note begin
beat=0
while [ $beat -lt $2 ]; do sleep 0.1; note beat; beat=$((beat + 1)); done
[ $DOVETAIL_ATTEMPT -gt $3 ] || exit 3
note end
"""


class CommandLine(NamedTuple):
    """`what`: begin, beat or end. `at`: seconds since the epoch, up to 10 ms too early."""

    what: str
    task: str
    attempt: int
    at: float

    @property
    def key(self) -> str:
        return f"{self.task}.{self.attempt}"

    @property
    def workload(self) -> int:
        return int(self.task.partition(".")[0])


class CommandRecord:
    def __init__(self, folder: Path) -> None:
        self._script, self._file = folder / "command.sh", folder / "commands"
        self._script.write_text(SCRIPT)
        self._file.touch()

    def command(self, beats: int, failures: int = 0) -> list[str]:
        """Runs for so many beats. `failures`: so many attempts fail before one succeeds."""
        return ["/bin/sh", str(self._script), str(self._file), str(beats), str(failures)]

    def read(self) -> list[CommandLine]:
        booted_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        words = (line.split() for line in self._file.read_text().splitlines())
        return [CommandLine(what, task, int(attempt), booted_at + float(at)) for what, task, attempt, at in words]
