"""`dovetail why-not`: why a workload is not on a certain node."""

from dovetail.cli.output import Format, Output, show
from dovetail.cli.server import Namespace, NodeName, Url, WorkloadName, connect


def command(
    name: WorkloadName,
    node: NodeName,
    namespace: Namespace = "default",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Why a workload is not on a certain node: every filter that refuses it, or how it ranks against the best."""
    with connect(url) as client:
        answer = client.why_not(name, node, namespace)
    from dovetail.cli.render.decision import why_not_view

    show(answer, output, lambda wide: why_not_view(answer, wide))
