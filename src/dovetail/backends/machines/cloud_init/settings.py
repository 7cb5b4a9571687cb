"""Settings of machines that run their jobs by cloud-init alone, and the choice between that and agents."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.backends.machines.settings import JoinSettings, MachineSettings
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import AtField, Strict


class CloudInitSettings(Strict):
    """How cloud-init runs jobs."""

    linger: Annotated[Duration, Field(ge=0, le=7 * 86_400)] = 900.0
    """How long a machine whose job has ended waits to be read and ended before it powers itself off. It waits so long
    only while this control plane is away."""
    starts_within: Annotated[Duration, Field(ge=1, le=86_400)] = 900.0
    """How long a machine may run until its console says that the job has begun. After that it is ended."""
    plain_env: bool = False
    """Put the variables of `run.env` into the user data, where everybody reads them who may describe the machine, or
    who runs on it. Without it, work with variables is refused."""


class CloudSettings(MachineSettings):
    """Fields of every cloud: those of all machines, and how work gets to them."""

    join: JoinSettings | None = None
    """How a new machine becomes a node of this control plane: its agent joins, and runs work until it is idle."""
    cloud_init: CloudInitSettings | None = None
    """Instead of `join`: machines have no agent and need no way to this control plane. Each runs one job, which is in
    its user data, and the end is read from its console. `{}` takes the usual values."""

    @model_validator(mode="after")
    def _check_one_of_them(self) -> Self:
        if self.join is None and self.cloud_init is None:
            words = (
                "is missing: give join, so that machines run work through an agent, or cloud_init, so that each runs"
            )
            raise AtField(("join",), f"{words} one job without")
        if self.join is not None and self.cloud_init is not None:
            raise AtField(("cloud_init",), "goes without join; give one of them")
        return self
