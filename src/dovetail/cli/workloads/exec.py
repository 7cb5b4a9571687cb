"""`dovetail exec`: run a command next to a running task, and end with its exit code."""

import sys
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect

if TYPE_CHECKING:
    from dovetail.client import Client

_MOST_INPUT = 1024 * 1024


def command(
    name: WorkloadName,
    run: Annotated[list[str] | None, Argument(metavar="-- COMMAND", help="The command.")] = None,
    replica: Annotated[
        int | None, Option("--replica", "-r", metavar="N", min=0, help="Which task; or WORKLOAD.N.")
    ] = None,
    stdin: Annotated[bool, Option("--stdin", "-i", help="Pass on what is piped in, up to 1 MiB.")] = False,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Run a command where a task runs: in its directory, with its environment and limits. Ends with its exit code.

    dovetail exec train.3 -- nvidia-smi. Its output and error output are shown together; it has no terminal. Backends
    of kind local and docker can do this; Ctrl-C ends the command on local ones.
    """
    if not run:
        raise Failure(f"say what to run: dovetail exec {name} -- COMMAND", ExitCode.USAGE)
    given = _input() if stdin else ""
    with connect(url) as client:
        code = _run(client, client.execute(name, run, namespace, replica=replica, stdin=given)["id"])
    if code:
        raise click.exceptions.Exit(code)


def _run(client: "Client", id_: str) -> int:
    offset = 0
    try:
        while True:
            piece = client.exec_output(id_, offset=offset)
            sys.stdout.buffer.write(piece.content)
            sys.stdout.buffer.flush()
            offset = piece.next_offset
            if piece.ended and not piece.content:
                break
    finally:
        client.end_exec(id_)
    if piece.exit_code is None:
        raise Failure(f"the command did not end by itself: {piece.error}", ExitCode.REFUSED)
    return piece.exit_code


def _input() -> str:
    content = sys.stdin.buffer.read(_MOST_INPUT + 1)
    if len(content) > _MOST_INPUT:
        raise Failure(
            "--stdin: more than 1 MiB was piped in; put it into a file that the task can read", ExitCode.USAGE
        )
    return content.decode("utf-8", "replace")
