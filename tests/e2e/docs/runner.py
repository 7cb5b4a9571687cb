"""Runs the blocks of a page in order, as a reader would who follows it literally.

The page starts at `make run`: this machine is the only node. `dovetail serve --config FILE` in a block starts another
server, which takes over. Commands run in an empty folder that has `examples` and `deploy` of the repository. A block
whose first line is a comment with a file name becomes that file; other complete workloads are submitted, have to be
placed, and are cancelled; other YAML has to be valid. Python runs as a script. `text` is what the last command printed.

`dovetail` commands share one process with loaded modules (`warm_shell`), servers run as threads of the test. Programs
for clusters of Kubernetes are processes until the page ends, as are the engines that a page needs (`engines`).
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from tests.e2e.docs.comparing import matches
from tests.e2e.docs.documents import check_document, is_work
from tests.e2e.docs.engines import Engine
from tests.e2e.docs.page import COMMANDS, OUTPUT, Block, Command, commands_of
from tests.e2e.warm_shell import run_warm
from tests.open_folder import open_folder
from tests.patience import wait_for
from tests.servers.daemon import Daemon
from tests.unit.api.server import serving

from dovetail.client import Client
from dovetail.control.settings import load_settings

ROOT = Path(__file__).parents[3]
COLUMNS = "80"
TIMEOUT_S = 60.0
PATIENCE_S = 60.0
#: Commands that change nothing: asked again until the answer is the one on the page, because work takes its time.
QUESTIONS = (
    "capacity", "describe", "endpoints", "events", "explain", "fragmentation", "get", "history", "logs", "plan",
    "queue", "queues", "services", "top", "why-not",
)  # fmt: skip
#: Commands that only show something unless the next word is a verb.
NOUNS = ("affinity", "backend", "cloud", "distance", "nodes", "policy", "reserve", "topology")
VERBS = (
    "add", "attach", "avoid", "clear", "create", "delete", "detach", "discover", "import", "reap", "register",
    "release", "remove", "set",
)  # fmt: skip
#: The same of commands of other systems.
OTHERS_QUESTIONS = (["kubectl", "get"], ["kubectl", "logs"], ["curl"], ["squeue"])
_ASKS_DOCKER = re.compile(r"docker( -H \S+)? ps\b")  # and something may read what it prints
#: Shell lines that only prepare a terminal.
DONE_ALREADY = ("source .venv/bin/activate", "pip install dovetail-scheduler")
#: Programs that go on until they are stopped.
PROGRAMS = (["dovetail", "kubernetes", "scheduler"], ["dovetail", "kubernetes", "extender"], ["dovetail", "dns"])
_SHELL_SIGNS = re.compile(r"[|<>;&`]|\$\(|\n")


class PageRunner:
    """Use it as a context manager: the end stops the page's servers. `url`: a server that runs already. `variables`: of
    the environment of servers that the page starts."""

    def __init__(
        self,
        folder: Path,
        engine: Engine | None = None,
        url: str | None = None,
        patience_s: float = PATIENCE_S,
        variables: dict[str, str] | None = None,
    ) -> None:
        self._engine, self._patience_s = engine or Engine(), patience_s
        self._variables = variables or {}
        self._ends = ExitStack()
        self.work = self._ends.enter_context(open_folder()) / "work"
        self.work.mkdir(mode=0o755)
        for name in ("examples", "deploy"):
            (self.work / name).symlink_to(ROOT / name)
        self._data = folder
        self._servers = 0
        self._url = url
        self._last: subprocess.CompletedProcess[str] | None = None

    def __enter__(self) -> "PageRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def run(self, block: Block) -> None:
        if block.not_run is not None:
            return
        if (name := block.told.get("hook")) is not None:
            if name in self._engine.server_hooks:
                self._engine.server_hooks[name](self.url)
            else:
                self._engine.hooks[name]()
            return
        block = replace(block, text=self._engine.here(block.text))
        if block.file_name is not None:
            file = self.work / block.file_name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language in COMMANDS:
            self._commands(block)
        elif block.language == OUTPUT:
            self._compare(block)
        elif block.language == "yaml":
            self._yaml(block)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "python":
            done = self._process([sys.executable, "-c", block.text])
            assert done.returncode == 0, f"{block.where}: {done.stderr}"

    def _compare(self, block: Block) -> None:
        assert self._last is not None, f"{block.where}: output without a command before it"
        printed = f"{self._last.stdout}{self._last.stderr}"
        same = _shows(self._last, block.text.splitlines())
        assert same, f"{block.where}: not what the last command printed\n--- page\n{block.text}\n--- printed\n{printed}"

    @property
    def url(self) -> str:
        if self._url is None:
            self._serve(None)
        assert self._url is not None
        return self._url

    def _serve(self, config: Path | None) -> None:
        self._servers += 1
        data = self._data / f"data-{self._servers}"
        always = {"DOVETAIL_DATA": json.dumps(str(data)), "DOVETAIL_LOGGING__LEVEL": "error"}
        settings = load_settings(config, always | self._variables)
        self._url = self._ends.enter_context(serving(settings))

    def _commands(self, block: Block) -> None:
        commands = commands_of(block)
        expected = [0] * (len(commands) - 1) + [int(block.told.get("exits", 0))]
        for command, status in zip(commands, expected, strict=True):
            if command.words not in DONE_ALREADY:
                self._command(f"{block.page}:{command.line}", command, status)

    def _command(self, where: str, command: Command, status: int) -> None:
        plain = not _SHELL_SIGNS.search(_without_quotes(command.words))
        words = shlex.split(command.words, comments=True) if plain else ["bash"]
        if words[:2] in (["make", "run"], ["dovetail", "serve"]):
            assert words[2:3] in ([], ["--config"], ["-c"]), f"{where}: only --config FILE is known to the runner"
            self._serve(self.work / words[3] if words[3:] else None)
            return
        if any(words[: len(one)] == one for one in PROGRAMS):
            self._start(words)
            return
        done = self._last = self._until_agreed(words, command, status)
        printed = f"{done.stdout}{done.stderr}"
        assert done.returncode == status, f"{where}: exit {done.returncode}, not {status}: {command.words}\n{printed}"
        expected = "\n".join(command.shown or [])
        assert _shows(done, command.shown), f"{where}: {command.words}\n--- page\n{expected}\n--- printed\n{printed}"

    def _start(self, words: list[str]) -> None:
        """It goes on until the page ends."""
        command = [sys.executable, "-m", *words]
        program = Daemon(words[2] if words[1] == "kubernetes" else words[1], command, self.work, self._environment())
        port = int(words[words.index("--port") + 1]) if "--port" in words else None
        program.start(ready=lambda: port is None or _listens(port))

        def end() -> None:
            assert program.alive, f"{' '.join(words)} ended by itself: {program.log_tail}"
            program.stop()

        self._ends.callback(end)

    def _until_agreed(self, words: list[str], command: Command, status: int) -> "subprocess.CompletedProcess[str]":
        """What the command printed at last. A question is asked again for a while if the answer is another one."""
        asks = _asks(words) or _ASKS_DOCKER.match(command.words) is not None
        began = time.monotonic()
        gives_up_at = began + (self._patience_s if asks else 0.0)
        while True:
            done = self._once(words, command.words)
            if (done.returncode == status and _shows(done, command.shown)) or time.monotonic() >= gives_up_at:
                return done
            time.sleep(min(max(0.1, (time.monotonic() - began) / 8), 1.0))  # each question is a process

    def _once(self, words: list[str], line: str) -> "subprocess.CompletedProcess[str]":
        if words[0] == "dovetail":
            return run_warm(words[1:], self._environment(), folder=self.work)
        return self._process(["bash", "-ec", line])

    def _process(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, env=self._environment(), cwd=self.work
        )

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "SCHEDULING_"))}
        kept |= self._engine.environment
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        return kept | {"COLUMNS": COLUMNS, "DOVETAIL_URL": self.url, "PATH": path}

    def _yaml(self, block: Block) -> None:
        check_document(block.text, block.where)
        if not is_work(block.text):
            return
        with Client(self.url) as client:
            numbers = [one["id"] for one in client.submit_yaml(block.text)]
            if "waits" not in block.told:
                wait_for(lambda: not any(client.workload(one)["pending"] for one in numbers), f"placing {block.where}")
            for number in numbers:
                client.cancel(number)
            wait_for(lambda: all(client.workload(one)["finished_at"] for one in numbers), f"{block.where} is cancelled")


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port)):
        return True


def _asks(words: list[str]) -> bool:
    if any(words[: len(one)] == one for one in OTHERS_QUESTIONS):
        return True
    program, noun, *rest = [*words, ""]
    return program == "dovetail" and (noun in QUESTIONS or (noun in NOUNS and rest[0] not in VERBS))


def _shows(done: "subprocess.CompletedProcess[str]", shown: list[str] | None) -> bool:
    """Terminals show both streams; which line of which comes first differs."""
    out, err = done.stdout, done.stderr
    return shown is None or any(matches("\n".join(shown), text) for text in (out, f"{err}\n{out}", f"{out}\n{err}"))


def _without_quotes(words: str) -> str:
    """What the shell itself would read: no quoted text, no comment."""
    return re.sub(r"'[^']*'|\"[^\"$`]*\"|\s#.*", "", words)
