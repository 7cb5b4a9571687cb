"""`dovetail capacity`: how many more of a shape fit."""

from typing import Annotated

import typer

from dovetail.cli.failure import ExitCode, Failure
from dovetail.cli.output import Format, Output, show
from dovetail.cli.resource_options import Cpu, Disk, Gpu, Memory, resources
from dovetail.cli.server import Url, connect
from dovetail.cli.submission import described, read_submission


def command(
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE|-", help="A workload whose shape is meant.")
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
    if len(work.workloads) > 1:
        raise Failure(f"{file} holds {len(work.workloads)} workloads; give one with one", ExitCode.USAGE)
    with connect(url) as client, work.located():
        answer = client.capacity(work.workloads[0])
    from dovetail.cli.render.decision import capacity_view

    show(answer, output, lambda wide: capacity_view(answer, wide))
    if not answer["total"]:
        raise typer.Exit(ExitCode.FAILED)
