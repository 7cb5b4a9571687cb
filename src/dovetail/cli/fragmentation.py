"""`dovetail fragmentation`: free GPU capacity that typical work cannot use."""

from dovetail.cli.output import Format, Output, show
from dovetail.cli.server import Url, connect


def command(output: Output = Format.TABLE, url: Url = None) -> None:
    """How much of the free GPU capacity typical work cannot use, in the cluster and in each domain; which typical tasks
    fit nowhere; and about what moving tasks would win back.
    """
    with connect(url) as client:
        found = client.fragmentation()
    from dovetail.cli.render.fragmentation import fragmentation_report

    show(found, output, lambda wide: fragmentation_report(found, wide))
