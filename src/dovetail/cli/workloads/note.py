"""`dovetail note`: a line of your own in the history."""

from typing import Annotated

from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument
from dovetail.cli.terminal.server import Url, connect


def command(
    text: Annotated[list[str], Argument(metavar="TEXT", help="One line, at most 200 characters.")],
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Write a note into the history: dovetail note driver 550 is rolled out

    The charts of the dashboard mark it, so that a change in them can be told from what somebody did. `dovetail events
    --kind note` lists notes. They go with the rest of the history when it is too old.
    """
    with connect(url) as client:
        written = client.note(" ".join(text))
    show(written, output, lambda _: f"noted: {written['text']}")
