"""Settings that all backends of launched machines share."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict

Url = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)]
Script = Annotated[str, Field(max_length=12_000)]
#: Images of Debian and Ubuntu come without `venv`.
INSTALL = """\
python3 -c 'import ensurepip' 2> /dev/null || { apt-get -qq update && apt-get -qq install -y python3-venv; }
python3 -m venv /opt/dovetail
/opt/dovetail/bin/pip install --quiet dovetail-scheduler"""


class JoinSettings(Strict):
    """How a new machine becomes a node of this control plane."""

    server: Url
    """The address of this control plane, as the machines reach it."""
    fingerprint: Annotated[str, Field(pattern="^[0-9A-Fa-f:]{64,95}$")] | None = None
    """The SHA-256 fingerprint of the server's certificate; needed with https unless a public authority signed it."""
    install: Script = INSTALL
    """Shell commands that install Dovetail on a machine. Leave it empty for an image that has it."""
    program: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\s'\"]+$")] = "/opt/dovetail/bin/dovetail"
    """The `dovetail` program on the machine."""
    within: Annotated[Duration, Field(ge=1, le=86_400)] = 900.0
    """How long a machine may take from its launch until its agent has joined. After that it is ended."""


class MachineSettings(Strict):
    """Fields of every backend that launches machines."""

    idle: Annotated[Duration, Field(ge=0, le=30 * 86_400)] = 600.0
    """How long a machine without tasks is kept for the next one before it is ended."""
    poll: Annotated[Duration, Field(ge=0.05, le=3600)] = 10.0
    """How often the provider is asked which machines there are."""
    refresh: Annotated[Duration, Field(ge=1, le=30 * 86_400)] = 3600.0
    """How often types and prices are read again."""
    reap_after: Annotated[Duration, Field(ge=0, le=30 * 86_400)] = 600.0
    """How long a machine with our mark that nobody knows of may run before it is ended."""
    max_machines: Annotated[Count, Field(ge=1, le=100_000)] = 100
    """How many machines there may be at once, of all types together."""
    quotas: dict[Annotated[str, Field(max_length=200)], Annotated[float, Field(ge=0, le=1e9)]] = Field(
        default={}, max_length=1000
    )
    """How much of each quota there is, by the provider's name for it. Quotas that are not named have no limit here."""
