"""PBS backends over the stand-in for OpenPBS that tests share."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.contract.backends.batch_rig import QUICK_BY_COMMANDS, batch_subject, mislead
from tests.contract.backends.conformance import Subject
from tests.servers.openpbs.server import OpenPbsStandIn

from dovetail.backends.pbs.backend import PbsBackend
from dovetail.backends.pbs.settings import PbsSettings

COMMANDS = ("qsub", "qstat", "qdel", "pbsnodes")


def openpbs_subject(server: OpenPbsStandIn, folder: Path, /, **fields: Any) -> Subject:
    asked = {"commands": str(server.bin), "launcher": str(server.bin / "pbsdsh"), **QUICK_BY_COMMANDS, **fields}
    settings = PbsSettings.model_validate({name: value for name, value in asked.items() if value is not None})

    @asynccontextmanager
    async def cut_off(key: str) -> AsyncIterator[None]:
        node = (folder / "runs" / key / "claim" / "by").read_text().split()[2]
        server.call("standin", "cut", node)
        try:
            yield
        finally:
            server.call("standin", "back", node)

    return batch_subject(lambda: PbsBackend("pbs", settings, folder / "runs"), folder, cut_off)


def with_bad_commands(server: OpenPbsStandIn, folder: Path, set_path: Callable[[str], None]) -> Subject:
    subject = openpbs_subject(server, folder, commands=None)
    words = {"unreachable": "cannot connect to server head (errno=15010)", "lost": "End of File"}
    mislead(subject, folder, COMMANDS, set_path, path=server.path, **words)
    return subject
