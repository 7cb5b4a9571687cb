"""`dovetail plan`: where workloads would go now."""

from dovetail.cli.failure import ExitCode, Failure
from dovetail.cli.output import Format, Output
from dovetail.cli.server import Url, connect
from dovetail.cli.submission import Files, read_submission
from dovetail.cli.submit import plan_and_show


def command(
    file: Files = [],  # noqa: B006 - Typer wants the default itself and never changes it
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Where workloads would go now, and why; nothing is changed. Exit code 1 when not all of it has a place."""
    if not file:
        raise Failure("say what to plan: -f FILE, a folder, or - for standard input", ExitCode.USAGE)
    work = read_submission(file)
    with connect(url) as client:
        plan_and_show(client, work, output)
