"""What a task was measured to use. Backends and agents measure it; nothing is decided by it here."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.strict import Strict

MOST_BYTES = 2**62

ByteCount = Annotated[int, Field(ge=0, le=MOST_BYTES)]
Share = Annotated[float, Field(ge=0, le=1)]


class TaskUse(Strict):
    """None: not measured there.

    `cpu_cores`: since the last measurement. Pressures: the share of the last ten seconds in which some process of the
    task waited for CPU, memory or disk (Linux PSI). Disk and network count since the task started. `gpus`: how many
    GPUs it keeps busy.
    """

    cpu_cores: Annotated[float, Field(ge=0, le=1e6)] | None = None
    memory_bytes: ByteCount | None = None
    cpu_pressure: Share | None = None
    memory_pressure: Share | None = None
    io_pressure: Share | None = None
    disk_read_bytes: ByteCount | None = None
    disk_written_bytes: ByteCount | None = None
    network_received_bytes: ByteCount | None = None
    network_sent_bytes: ByteCount | None = None
    gpus: Annotated[float, Field(ge=0, le=1e6)] | None = None
    gpu_memory_bytes: ByteCount | None = None
