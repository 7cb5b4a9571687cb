"""`dovetail agent` as a process of its own."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.servers.warm_process import WarmProcess

AGENT = (sys.executable, "-m", "dovetail.cli.main", "agent")


class AgentProcess:
    """`dovetail agent` in a folder of its own: start, kill and start again."""

    def __init__(self, folder: Path, name: str = "far", **more: Any) -> None:
        """`more`: settings."""
        self.data, self.log = folder / name, folder / f"{name}.log"
        settings = folder / f"{name}.yaml"
        local = {"run_as": "server", "grace_s": "1s"}
        settings.write_text(json.dumps({"heartbeat": "1s", "longest_pause": "200ms", "local": local, **more}))
        self._options = ("--config", str(settings), "--name", name, "--data", str(self.data))
        self.process: WarmProcess | None = None

    def start(self, *options: str) -> None:
        self.start_as(*self._options, *options)

    def start_as(self, *options: str) -> None:
        """With these options and no others; instead of the one that runs, if one does."""
        if self.process is not None and self.process.poll() is None:
            self.end()
        env = {name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")}
        with self.log.open("ab") as log:
            self.process = WarmProcess([*AGENT, *options], stdout=log, stderr=log, env=env)

    def end(self, number: int = signal.SIGKILL) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait()
