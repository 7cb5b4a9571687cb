"""Settings of an agent: its file, its options and its environment say the same."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from dovetail.backends.local.settings import LocalSettings
from dovetail.discovery.dns.settings import DnsSettings
from dovetail.model.text.quantity import Duration
from dovetail.model.text.reading import read_one
from dovetail.model.text.strict import Strict


class AgentSettings(Strict):
    data: Path = Field(default_factory=lambda: Path.home() / ".local/share/dovetail-agent")
    """Where it keeps its identity, its orders and the folders of tasks."""
    local: LocalSettings = LocalSettings()
    """How commands run here: the settings of the local backend. `node` is the name of the node."""
    heartbeat: Annotated[Duration, Field(ge=0.5, le=600)] = 10.0
    """How often it reports its use. What becomes of tasks is reported at once."""
    longest_pause: Annotated[Duration, Field(ge=0.1, le=3600)] = 60.0
    """How long it waits at most before it tries again to reach the control plane. Pauses grow up to this."""
    dns: DnsSettings | None = None
    """Answer DNS queries for the names of services on this machine, nearest endpoints first. None: it does not."""
    drain_on_stop: bool = False
    """On SIGTERM, let its tasks be moved elsewhere, and wait for that before it ends."""

    def with_name(self, name: str) -> "AgentSettings":
        local = LocalSettings.model_validate({**self.local.model_dump(exclude_unset=True), "node": name})
        return self.model_copy(update={"local": local})


def read_settings(config: Path | None, name: str | None, data: Path | None) -> AgentSettings:
    """From a YAML file, with what the options say above it. Raises Invalid and OSError."""
    text, source = (b"{}", "options") if config is None else (config.read_bytes(), str(config))
    found = read_one(AgentSettings, text, source)
    if data is not None:
        found = found.model_copy(update={"data": data})
    return found if name is None else found.with_name(name)
