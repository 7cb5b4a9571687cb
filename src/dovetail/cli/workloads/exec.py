"""`dovetail exec`: run a command next to a running task, and end with its exit code."""

import sys
from typing import Annotated

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect
from dovetail.cli.workloads.task_session import TaskSession, terminal_size


def command(
    name: WorkloadName,
    run: Annotated[list[str] | None, Argument(metavar="-- COMMAND", help="The command.")] = None,
    replica: Annotated[
        int | None, Option("--replica", "-r", metavar="N", min=0, help="Which task; or WORKLOAD.N.")
    ] = None,
    stdin: Annotated[bool, Option("--stdin", "-i", help="Pass on what is typed or piped in.")] = False,
    tty: Annotated[bool, Option("--tty", "-t", help="Give it this terminal; with that goes -i.")] = False,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Run a command where a task runs: in its directory, with its environment and limits. Ends with its exit code.

    dovetail exec train.3 -- nvidia-smi; dovetail exec train.3 -t -- bash. Its output and error output are shown
    together. Backends of kind local, docker and kubernetes can do this; without -t, Ctrl-C ends the command on local
    ones.
    """
    if not run:
        raise Failure(f"say what to run: dovetail exec {name} -- COMMAND", ExitCode.USAGE)
    if tty and not sys.stdin.isatty():
        raise Failure(
            "--tty: the input is no terminal; leave it out, --stdin passes on what is piped in", ExitCode.USAGE
        )
    size = terminal_size() if tty else None
    with connect(url, told=False) as client:
        started = client.execute(name, run, namespace, replica=replica, interactive=stdin or tty, terminal=size)
        end = TaskSession(client, started["id"], sends_input=stdin or tty, terminal=tty).run()
    if end.exit_code is None:
        raise Failure(f"the command did not end by itself: {end.error}", ExitCode.REFUSED)
    if end.exit_code:
        raise click.exceptions.Exit(end.exit_code)
