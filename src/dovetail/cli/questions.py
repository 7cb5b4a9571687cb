"""Commands that ask and change nothing: `plan`, `explain`, `why-not`, `capacity`, `fragmentation`."""

import time
from functools import partial
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import Files
from dovetail.cli.terminal.named import refs, show_each
from dovetail.cli.terminal.options import Cpu, Disk, Gpu, Memory, resources
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, NodeName, Url, WorkloadName, connect
from dovetail.cli.workloads.job_options import NO_OPTIONS, JobOptions, takes_job_options
from dovetail.cli.workloads.submission import described, read_submission


@takes_job_options
def plan(
    run: Annotated[
        list[str] | None, Argument(metavar="-- COMMAND", help="A command or a script, instead of files.")
    ] = None,
    file: Files = [],  # noqa: B006 - the parser wants the default itself and never changes it
    job: JobOptions = NO_OPTIONS,
    tasks: Annotated[int | None, Option(metavar="N", min=1, help="Try so many tasks of each.  [default: 1000]")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Where workloads would go now, and why; nothing is changed. Exit code 1 when not all of it fits.

    From files, for a command or a script, as dovetail submit takes them: dovetail plan --gpus 8 --replicas 4 -- ./train
    """
    from dovetail.cli.workloads.submit import plan_and_show, work_to_submit

    work = work_to_submit(file, run or [], job, verb="plan")
    with connect(url) as client:
        plan_and_show(partial(client.plan, tasks=tasks), work, output)


def explain(name: WorkloadName, namespace: Namespace = None, output: Output = Format.TABLE, url: Url = None) -> None:
    """Why a workload runs where it runs, or why it waits: one sentence, then the details.

    For pending work: which of its requirements no node satisfies together, and what would help; each suggestion was
    tried first. The funnel shows how many nodes each filter left, the table the scores of the best nodes.
    """
    with connect(url) as client:
        answers = [client.explain(ref) for ref in refs(client, name, namespace)]
    show_each(answers, output, lambda answer, wide: render.decision.explain_view(answer, time.time(), wide))


def why_not(
    name: WorkloadName,
    node: NodeName,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Why a workload is not on a certain node: every filter that refuses the node, or how it ranks against the best."""
    with connect(url) as client:
        answers = [client.why_not(ref, node) for ref in refs(client, name, namespace)]
    show_each(answers, output, lambda answer, wide: render.decision.why_not_view(answer, wide))


def capacity(
    file: Annotated[
        str | None, Option("--file", "-f", metavar="FILE|-", help="A workload whose shape is meant.")
    ] = None,
    cpu: Cpu = None,
    memory: Memory = None,
    disk: Disk = None,
    gpu: Gpu = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """How many more tasks of a shape fit, and where. Exit code 1 when none does."""
    asked = resources(cpu, memory, disk, gpu)
    if bool(file) == bool(asked):
        raise Failure("say what should fit: -f FILE, or options such as --cpu 2 --memory 4GiB", ExitCode.USAGE)
    work = read_submission([file]) if file else described({"name": "capacity", "resources": asked})
    if file and len(work.workloads) > 1:
        raise Failure(f"{file} holds {len(work.workloads)} workloads; give one with one", ExitCode.USAGE)
    with connect(url) as client:
        answer = work.send(lambda body: client.capacity(body[0] if isinstance(body, list) else body))
    show(answer, output, lambda wide: render.decision.capacity_view(answer, wide))
    if not answer["total"]:
        raise click.exceptions.Exit(ExitCode.FAILED)


def fragmentation(output: Output = Format.TABLE, url: Url = None) -> None:
    """How much of the free GPU capacity typical work cannot use, in the cluster and in each domain; which typical tasks
    fit nowhere; and an estimate of what moving tasks would recover.
    """
    with connect(url) as client:
        found = client.fragmentation()
    show(found, output, lambda wide: render.fragmentation.fragmentation_report(found, wide))
