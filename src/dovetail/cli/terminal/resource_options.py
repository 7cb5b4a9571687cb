"""Options for the resources of one task, shared by `submit`, `capacity` and `reserve`."""

from typing import Annotated, Any

import typer

Cpu = Annotated[str | None, typer.Option(metavar="CORES", help="Cores, such as 2, 0.5 or 500m.")]
Memory = Annotated[str | None, typer.Option(metavar="BYTES", help="Memory, such as 512MiB or 64GiB.")]
Disk = Annotated[str | None, typer.Option(metavar="BYTES", help="Disk, such as 10GiB.")]
Gpu = Annotated[str | None, typer.Option(metavar="N", help="Whole GPUs, or a share of one such as 0.25.")]


def resources(cpu: str | None, memory: str | None, disk: str | None, gpu: str | None) -> dict[str, Any]:
    """Only what was given; checking the quantities is left to the model."""
    given = {"cpu": cpu, "memory": memory, "disk": disk, "gpu": gpu}
    return {name: value for name, value in given.items() if value is not None}
