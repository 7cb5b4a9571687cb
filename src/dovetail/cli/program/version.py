"""`dovetail version`: of this program, and of the server where one answers."""

from typing import TYPE_CHECKING

from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from dovetail.responses.combined import Versions


def command(output: Output = Format.TABLE, url: Url = None) -> None:
    """The version of this program and, where one answers, of the server."""
    from dovetail import __version__
    from dovetail.client import ConnectError, DovetailError

    found: Versions = {"client": __version__, "server": None}
    with connect(url) as client:
        address = client.url
        try:
            found["server"] = client.summary()["version"]
            where = f"server {found['server']} at {address}"
        except (ConnectError, DovetailError):
            where = f"no server answers at {address}"
    show(found, output, lambda _: f"dovetail {__version__}\n{where}")
