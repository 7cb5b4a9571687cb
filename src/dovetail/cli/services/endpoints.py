"""`dovetail endpoints`: where a service is reached."""

from typing import Annotated

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, Url, connect


def endpoints(
    name: Annotated[str, Argument(metavar="SERVICE", help="Its name, or namespace/name.")],
    start: Annotated[
        str | None, Option("--from", metavar="NODE", help="The nearest to this node first.", completes="nodes")
    ] = None,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Where a service is reached: its ready replicas, with the address and the ports of each."""
    with connect(url) as client:
        found = client.endpoints(name, namespace=namespace, start=start)
    show(found, output, lambda wide: render.services.endpoint_list(found, wide))
