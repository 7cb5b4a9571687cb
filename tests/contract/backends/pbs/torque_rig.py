"""PBS backends over Slurm's commands that speak as Torque's do, on the cluster that tests share."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.contract.backends.batch_rig import QUICK_BY_COMMANDS, batch_subject, mislead
from tests.contract.backends.conformance import Subject
from tests.servers.daemon import skip_without
from tests.servers.slurm import SlurmServer

from dovetail.backends.pbs.backend import PbsBackend
from dovetail.backends.pbs.settings import PbsSettings

COMMANDS = ("qsub", "qstat", "qdel", "pbsnodes")


def torque_subject(server: SlurmServer, folder: Path, /, **fields: Any) -> Subject:
    """The commands find the cluster through SLURM_CONF, which the test has to set."""
    skip_without(*COMMANDS)
    settings = PbsSettings.model_validate(QUICK_BY_COMMANDS | fields)

    @asynccontextmanager
    async def cut_off(key: str) -> AsyncIterator[None]:
        node = server.nodes[(folder / "runs" / key / "claim" / "by").read_text().split()[2]]
        node.kill()
        try:
            yield
        finally:
            node.start(ready=lambda: True)

    return batch_subject(lambda: PbsBackend("pbs", settings, folder / "runs"), folder, cut_off)


def with_bad_commands(server: SlurmServer, folder: Path, set_path: Callable[[str], None]) -> Subject:
    subject = torque_subject(server, folder)
    words = {"unreachable": "Problem loading jobs.", "lost": "error: Socket timed out on send/recv operation"}
    mislead(subject, folder, COMMANDS, set_path, **words)
    return subject
