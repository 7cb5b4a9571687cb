"""`dovetail constraint`: expressions about nodes, checked without using them."""

from pathlib import Path
from typing import Annotated, Any

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import plain_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import SUFFIXES, read_file
from dovetail.cli.terminal.output import Format, Output, show, warn
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import InNamespace, Url, connect

ALL_NODES = 100_000  # that do not satisfy an expression; the server names at most so many

command = plain_group("Expressions about nodes, as in require, prefer and avoid.")


@command.action("check")
def check(
    expression: Annotated[str | None, Argument(metavar="EXPR", help="The expression.", show_default=False)] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE|-", help="From a file: text, or a structure in YAML or JSON."),
    ] = None,
    namespace: InNamespace = "default",
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
    if isinstance(asked, str) and not asked.strip():
        raise Failure(f"{file or 'the expression'} is empty; write one such as node.free.cpu > 2", ExitCode.USAGE)
    with connect(url) as client:
        most = None if output is Format.TABLE else ALL_NODES
        found = client.check_constraint(asked or "", namespace=namespace, most_failing=most)
    if found["ok"] or output.is_data:
        show(found, output, lambda _: render.policies.checked(found))
    else:
        warn(render.policies.mistake(found))
    if not found["ok"]:
        raise click.exceptions.Exit(ExitCode.USAGE)
    if not found["nodes"]["satisfying"]:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _read(source: str) -> Any:
    """The text of the file, or the structure if it holds a mapping."""
    from dovetail.model.text.document import decode, read_documents

    text = decode(read_file(source), source)
    if Path(source).suffix.lower() not in SUFFIXES and not text.lstrip().startswith("{"):
        return text.strip()
    documents = read_documents(text, source)
    if len(documents) != 1 or not isinstance(documents[0].data, str | dict):
        raise Failure(f"{source}: holds no expression; one text or one mapping is expected", ExitCode.USAGE)
    return documents[0].data
