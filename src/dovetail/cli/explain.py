"""`dovetail explain`: why a workload is where it is."""

import time

from dovetail.cli.output import Format, Output, show
from dovetail.cli.server import Namespace, Url, WorkloadName, connect


def command(
    name: WorkloadName, namespace: Namespace = "default", output: Output = Format.TABLE, url: Url = None
) -> None:
    """Why a workload runs where it runs, or why it waits: one sentence, then what it rests on.

    For waiting work: which of its requirements no node satisfies together, and what would help; each suggestion was
    tried before it is made. The funnel shows how many nodes each filter left over, the table the points of the best.
    """
    with connect(url) as client:
        answer = client.explain(name, namespace)
    from dovetail.cli.render.decision import explain_view

    show(answer, output, lambda wide: explain_view(answer, time.time(), wide))
