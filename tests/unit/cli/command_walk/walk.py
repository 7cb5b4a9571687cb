"""Runs commands in this process against a live server, and notes which of them really ran and asked it something."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner
from tests.patience import wait_for

from dovetail.cli.main import app
from dovetail.client import Client
from dovetail.client.transport.transport import Transport

PROGRAM = "dovetail "


class CommandWalk:
    """`folder` is empty, for the files of one use."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.ran: set[str] = set()  # commands, such as `nodes label`, that ended as was expected
        self.answers = 0  # of the server, to commands

    def run(self, line: str, code: int = 0, stdin: str | None = None) -> str:
        """What the command prints. `line` is written as in a shell, without `dovetail`."""
        reached: set[str] = set()
        with _noting(reached, self._count):
            found = CliRunner().invoke(
                app, shlex.split(line), input=stdin, env={"DOVETAIL_URL": self.client.url, "COLUMNS": "200"}
            )
        unforeseen = None if isinstance(found.exception, SystemExit) else found.exception
        assert unforeseen is None, f"dovetail {line}: {unforeseen!r}\n{found.output}"
        assert found.exit_code == code, f"dovetail {line}: exit code {found.exit_code}\n{found.output}"
        self.ran |= reached
        return found.stdout

    def file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def running(self, name: str, **spec: Any) -> None:
        """A workload that runs until it is cancelled."""
        self.client.submit({"name": name, "resources": {"cpu": "10m"}, **spec})
        wait_for(lambda: self.client.workload(name)["state"] == "running")

    def ended(self, name: str, **spec: Any) -> None:
        """A workload that has run."""
        run = {"command": ["x"], "simulate": {"run_time": "1ms"}}
        self.client.submit({"name": name, "resources": {"cpu": "10m"}, "run": run, **spec})
        wait_for(lambda: self.client.workload(name)["finished_at"])

    def node(self, name: str, **spec: Any) -> None:
        """A node of its own, which a command may change."""
        self.client.register_node({"name": name, "capacity": {"cpu": 1}, **spec})

    def _count(self) -> None:
        self.answers += 1


@contextmanager
def _noting(reached: set[str], answered: Callable[[], None]) -> Iterator[None]:
    """Inside the block, commands that are called and answers of the server are noted."""
    invoke, ask, stream = click.Command.invoke, Transport.ask, Transport.stream

    def noted_invoke(self: click.Command, ctx: click.Context) -> Any:
        if not isinstance(self, click.Group):
            reached.add(ctx.command_path.removeprefix(PROGRAM))
        return invoke(self, ctx)

    def noted_ask(self: Transport, *args: Any, **how: Any) -> Any:
        answer = ask(self, *args, **how)
        answered()
        return answer

    @contextmanager
    def noted_stream(self: Transport, *args: Any, **how: Any) -> Iterator[Any]:
        with stream(self, *args, **how) as answer:
            answered()
            yield answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click.Command, "invoke", noted_invoke)
        patch.setattr(Transport, "ask", noted_ask)
        patch.setattr(Transport, "stream", noted_stream)
        yield


Use = Callable[[CommandWalk], None]


class RegisteredUse(NamedTuple):
    use: Use
    commands: tuple[str, ...]
    asks_server: bool


USES: dict[str, RegisteredUse] = {}


def uses(*commands: str, asks_server: bool = True) -> Callable[[Use], Use]:
    """The function runs these commands and looks at what they did. It stands on its own: each one runs by itself, in
    any order, on a server that others have used, and leaves nothing behind that others would meet."""

    def registered(use: Use) -> Use:
        assert use.__name__ not in USES, f"two uses are called {use.__name__}"
        USES[use.__name__] = RegisteredUse(use, commands, asks_server)
        return use

    return registered
