"""`dovetail constraint`: expressions about nodes, checked without using them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.terminal.default_action import plain_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import Format, Output, show, stderr
from dovetail.cli.terminal.server import Namespace, Url, connect

if TYPE_CHECKING:
    from dovetail.responses.policies import CheckedConstraint

STDIN = "-"
STRUCTURED = (".yaml", ".yml", ".json")

command = plain_group("Expressions about nodes, as in require, prefer and avoid.")


@command.callback()
def constraint() -> None:
    """Keeps `check` a command of its own."""


@command.command("check")
def check(
    expression: Annotated[
        str | None, typer.Argument(metavar="EXPR", help="The expression.", show_default=False)
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE|-", help="From a file: text, or a structure in YAML or JSON."),
    ] = None,
    namespace: Namespace = "default",
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Is an expression valid, and how many nodes satisfy it now? Shows some that do not, and why.

    dovetail constraint check 'node.labels.zone in ["a", "b"] && node.free.memory > GiB(64)'

    With -o json also as a structure. Exit code 2 when it is not valid, 1 when no node satisfies it.
    """
    if (expression is None) == (file is None):
        raise Failure("give an expression, or a file with -f", ExitCode.USAGE)
    asked = expression if file is None else _read(file)
    with connect(url) as client:
        found = client.check_constraint(asked or "", namespace=namespace)
    if output in (Format.JSON, Format.YAML) or found["ok"]:
        from dovetail.cli.render.constraints import checked

        show(found, output, lambda wide: checked(found, wide))
    if not found["ok"]:
        if output in (Format.TABLE, Format.WIDE):
            _complain(found)
        raise typer.Exit(ExitCode.USAGE)
    if not found["nodes"]["satisfying"]:
        raise typer.Exit(ExitCode.FAILED)


def _complain(found: "CheckedConstraint") -> None:
    from dovetail.cli.render.constraints import mistake

    stderr().print(mistake(found), soft_wrap=True)


def _read(source: str) -> Any:
    """The text of the file, or the structure if it holds a mapping."""
    import sys

    from dovetail.model.text.document import decode, read_documents

    try:
        content = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise Failure(f"{source}: cannot be read: {error.strerror or error}", ExitCode.USAGE) from None
    text = decode(content, source)
    structured = Path(source).suffix.lower() in STRUCTURED or text.lstrip().startswith("{")
    documents = read_documents(text, source) if structured else []
    if not structured:
        return text.strip()
    if len(documents) != 1 or not isinstance(documents[0].data, str | dict):
        raise Failure(f"{source}: holds no expression; one text or one mapping is expected", ExitCode.USAGE)
    return documents[0].data
