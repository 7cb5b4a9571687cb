"""Settings of machines that run their jobs by cloud-init alone."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict


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
