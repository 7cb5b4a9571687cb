"""The shared folder: one folder an attempt, in which every file is written once and appears whole.

    nodes/NODE.json     what a machine has; its worker touches it while it lives
    runs/KEY/order      what to run and where, in JSON
    runs/KEY/claim      who may decide what becomes of it: the name of a machine, or "nobody"
    runs/KEY/stop       why it is to end
    runs/KEY/started    the process, in JSON
    runs/KEY/end        how it ended, in JSON: the last word
    runs/KEY/output     what it printed

`write_once` is what makes twice equal once: of all who write a file the first succeeds, whichever machine it is on. Who
holds the claim is the only one that starts anything, and the only one that writes the end.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

NOBODY = "nobody"


def write_once(path: Path, content: str) -> bool:
    """False: it was there already, and stays as it was. Raises OSError while the shared folder is away: made anew in
    its place, an empty one would tell everybody that nothing was ever taken."""
    path.parent.mkdir(exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        Path(draft).unlink()
    return True


def read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


class Run:
    """One attempt, as anybody with the folder sees it."""

    def __init__(self, spool: Path, key: str) -> None:
        self.key = key
        self.path = spool / "runs" / key

    def __getattr__(self, name: str) -> Any:
        """`order`, `claim`, `stop`, `started`, `end`: what the file says, None while it is not there."""
        if name not in ("order", "claim", "stop", "started", "end"):
            raise AttributeError(name)
        found = read(self.path / name)
        return found if found is None or name in ("claim", "stop") else json.loads(found)

    def give(self, order: dict[str, Any]) -> None:
        write_once(self.path / "order", json.dumps(order))

    def take(self, who: str) -> bool:
        """Whether it was free, so that this machine (or nobody) decides about it from now on."""
        return write_once(self.path / "claim", who)

    def ask_to_stop(self, reason: str) -> None:
        """What no machine has taken is never started; what one has taken, that machine ends."""
        write_once(self.path / "stop", reason)
        self.give_up(self.stop)

    def give_up(self, reason: str) -> None:
        """It never starts, if no machine has taken it. Repeated: finishes what was begun."""
        if self.take(NOBODY) or self.claim == NOBODY:
            self.finish(None, reason)

    def never_begin(self) -> None:
        """Unless it has begun: then `started` says as which process."""
        write_once(self.path / "started", json.dumps({"pid": None}))

    def finish(self, exit_code: int | None, reason: str) -> None:
        write_once(self.path / "end", json.dumps({"exit_code": exit_code, "reason": reason}))
