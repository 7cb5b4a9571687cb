"""`dovetail attach`: show what a running task writes, send what is typed, end with its exit code."""

from typing import Annotated

import click

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect
from dovetail.cli.workloads.task_session import TaskSession


def command(
    name: WorkloadName,
    replica: Annotated[
        int | None, Option("--replica", "-r", metavar="N", min=0, help="Which task; or WORKLOAD.N.")
    ] = None,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Show what a running task writes from now on, and end with its exit code. Ctrl-C detaches: the task goes on.

    What is typed or piped in goes to the task if it was submitted with --stdin (run.stdin); its input stays open when
    you detach. Backends of kind local, docker and kubernetes can do this; everywhere else use dovetail logs --follow.
    """
    with connect(url, told=False) as client:
        started = client.attach(name, namespace, replica=replica)
        hint = "" if started["takes_input"] else "; it reads no input, because it was submitted without --stdin"
        say(f"attached to task {started['task']} on {started['node']}{hint}; Ctrl-C detaches")
        try:
            end = TaskSession(client, started["id"], sends_input=started["takes_input"]).run()
        except KeyboardInterrupt:
            say(f"detached; the task goes on: dovetail logs {name} --follow")
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    if end.exit_code is None:
        raise Failure(f"task {started['task']} ended without an exit code: {end.error}", ExitCode.FAILED)
    if end.exit_code:
        raise click.exceptions.Exit(end.exit_code)
