"""`dovetail affinity`: the nodes that the tasks of a service should run on, and those to avoid."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.options import By
from dovetail.cli.terminal.output import Format, Output, show, warn
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import InNamespace, Url, check_name, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.policies import ChangedAffinity

command = default_group("Which nodes services should be on, and which not; `affinity` alone lists them.")


Service = Annotated[str, Argument(metavar="SERVICE", callback=check_name, help="The service.")]
Nodes = Annotated[list[str], Argument(metavar="NODE", help="Names of nodes.")]


@command.action("list")
def list_rules(output: Output = Format.TABLE, url: Url = None) -> None:
    """Every service that has a rule, and its nodes."""
    with connect(url) as client:
        rows = client.service_affinities()
    show(rows, output, lambda wide: render.policies.affinity_list(rows, wide))


def _rule(change: "Callable[[Client], Callable[..., ChangedAffinity]]", required_help: str) -> Callable[..., None]:
    """`set` and `avoid` differ only in what they ask of the client."""

    def changed(
        service: Service,
        nodes: Nodes,
        required: Annotated[bool, Option("--required", help=required_help)] = False,
        namespace: InNamespace = "default",
        by: By = "",
        output: Output = Format.TABLE,
        url: Url = None,
    ) -> None:
        with connect(url) as client:
            made = change(client)(service, nodes, required=required, namespace=namespace, by=by)
        show(made, output, lambda wide: render.policies.changed_affinity(made, wide))
        for warning in made["warnings"]:
            warn(f"note: {warning}", "yellow")

    return changed


_SET = "Prefer these nodes for a service: dovetail affinity set cart n1 n2. What was set before is replaced."
_AVOID = "Avoid these nodes for a service: dovetail affinity avoid cart n3. What was avoided before is replaced."
command.action("set", _SET)(_rule(lambda client: client.set_service_affinity, "It must be on one of them."))
command.action("avoid", _AVOID)(_rule(lambda client: client.set_service_antiaffinity, "It must not be on any of them."))


@command.action("clear")
def clear(service: Service, namespace: InNamespace = "default", url: Url = None) -> None:
    """Clear both lists of a service: the nodes to prefer and the nodes to avoid."""
    from dovetail.client import DovetailError

    cleared = []
    with connect(url) as client:
        ends = (("affinity", client.clear_service_affinity), ("anti-affinity", client.clear_service_antiaffinity))
        for word, end in ends:
            try:
                end(service, namespace=namespace)
                cleared.append(word)
            except DovetailError as error:
                if error.slug != "not-found":  # that side was never set
                    raise
    if not cleared:
        words = f"service {service!r} in namespace {namespace!r} has no affinity and no anti-affinity"
        raise Failure(words, ExitCode.NOT_FOUND)
    click.echo(f"{namespace}/{service}: {' and '.join(cleared)} cleared")
