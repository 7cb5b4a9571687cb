"""Slurm backends over the cluster that tests share, for both ways of asking it, and ways to make it misbehave."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.contract.backends.batch_rig import QUICK, QUICK_BY_COMMANDS, batch_subject, mislead
from tests.contract.backends.conformance import Subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.slurm.backend import SlurmBackend
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.testing.lossy_proxy import LossyProxy

Way = Literal["rest", "tcp", "cli"]


def settings_for(server: SlurmServer, way: Way, folder: Path, /, **fields: Any) -> SlurmSettings:
    asked: dict[str, Any] = {"conf": str(server.settings), **(QUICK_BY_COMMANDS if way == "cli" else QUICK)}
    if way == "rest":
        asked["url"] = f"unix:{server.socket}"
    elif way == "tcp":
        token = folder / "token"
        token.write_text(f"SLURM_JWT={server.token()}\n")
        asked |= {"url": f"http://127.0.0.1:{server.tcp_port}", "user": "root", "token_file": str(token)}
    return SlurmSettings.model_validate(asked | fields)


def slurm_subject(server: SlurmServer, way: Way, folder: Path, /, **fields: Any) -> Subject:
    settings = settings_for(server, way, folder, **fields)

    @asynccontextmanager
    async def cut_off(key: str) -> AsyncIterator[None]:
        node = server.nodes[(folder / "runs" / key / "claim" / "by").read_text().split()[2]]
        node.kill()
        try:
            yield
        finally:
            node.start(ready=lambda: True)

    return batch_subject(lambda: SlurmBackend("slurm", settings, folder / "runs"), folder, cut_off)


@contextmanager
def over_a_bad_network(server: SlurmServer, folder: Path, /, **fields: Any) -> Iterator[Subject]:
    """Asks slurmrestd through a proxy."""
    with LossyProxy(str(server.socket)) as proxy:
        subject = slurm_subject(server, "rest", folder, url=f"unix:{proxy.address}", **fields)
        subject.cut_replies, subject.break_calls = proxy.cut_replies, proxy.break_calls
        subject.hold_reply = proxy.hold_reply
        yield subject


def with_bad_commands(server: SlurmServer, folder: Path, set_path: Callable[[str], None]) -> Subject:
    """Asks with commands that may be misled."""
    subject = slurm_subject(server, "cli", folder)
    mislead(
        subject,
        folder,
        ("sbatch", "scontrol", "scancel", "sacct"),
        set_path,
        unreachable="error: Unable to contact slurm controller (connect failure)",
        lost="error: Socket timed out on send/recv operation",
    )
    return subject
