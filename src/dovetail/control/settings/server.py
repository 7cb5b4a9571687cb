"""Everything that an operator may set, in sections. Those of the API are in `listening`; `loading` reads the file."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dovetail.backends.registry import BackendEntry
from dovetail.control.settings.listening import AccessSettings, Listen, RequestLimits
from dovetail.control.settings.topology_file import TopologyFile
from dovetail.engine.settings import EngineSettings
from dovetail.model.text.quantity import Bytes, Count, Duration
from dovetail.model.text.strict import AtField, Name, Strict

REGISTERED = "registered"


class WebSettings(Strict):
    """The dashboard."""

    enabled: bool = True
    """Serve the dashboard at `/`, on the port of the API. Without it, only the API answers."""


class LoopSettings(Strict):
    slice: Annotated[Duration, Field(ge=0.001, le=1)] = 0.005
    """How long the engine decides before it hands its decisions over and takes new events. Longer slices decide more a
    second; requests wait longer beside them."""
    parallel: Annotated[Count, Field(ge=1, le=1000)] = 32
    """How many commands are sent to one backend at the same time."""
    heartbeat_timeout: Annotated[Duration, Field(ge=1)] = 30.0
    """A registered node that sends no heartbeat for this long is offline."""
    call_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 60.0
    """A call to a backend without an answer after this time is repeated with the same key."""
    slow_call: Annotated[Duration, Field(ge=0.1, le=3600)] = 15.0
    """An answer of a backend that takes longer counts as a failure for its circuit breaker."""
    relist: Annotated[Duration, Field(ge=0.1, le=86_400)] = 60.0
    """How often a backend is asked about an attempt of which it has reported nothing new."""


class Retention(Strict):
    finished: Duration = 7 * 86400.0
    """How long workloads that have ended are kept, with their tasks and decisions."""
    history: Duration = 7 * 86400.0
    """How long history entries (`dovetail events`) are kept."""
    max_size: Annotated[Bytes, Field(ge=2**20)] = 4 * 2**30
    """The largest database. Above it the oldest ended work and history go, however new they are."""


class RecordingSettings(Strict):
    """Recordings of what the scheduler heard, for `dovetail replay` (`docs/replay.md`)."""

    enabled: bool = True
    """Record, in the folder `recordings` of the data folder."""
    keep: Annotated[Duration, Field(ge=60)] = 2 * 86400.0
    """How long recordings are kept."""
    segment: Annotated[Duration, Field(ge=10)] = 6 * 3600.0
    """How often the whole state is written, where a replay can begin."""
    max_size: Annotated[Bytes, Field(ge=2**20)] = 2**30
    """The largest size of all recordings. Above it the oldest go, however new they are."""


class Logging(Strict):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe messages that are logged."""
    format: Literal["json", "console"] = "json"
    """`json`: one object a line. `console`: for people."""
    decisions: bool = True
    """Log every decision, at level `info`."""


def _as_topology_file(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


def _without_registered(value: dict[str, BackendEntry]) -> dict[str, BackendEntry]:
    if REGISTERED in value:
        raise AtField((REGISTERED,), "is the backend of nodes that register themselves; choose another name")
    return value


def _without_hooks(value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    if "hooks" in value:
        raise AtField(("hooks",), "have a field of their own; write them under `hooks`")
    return value


class Settings(Strict):
    data: Annotated[str, Field(min_length=1, max_length=3000)] = "~/.local/share/dovetail"
    """The folder of the database, of secrets and of run folders; made if it is missing."""
    listen: Listen = Listen()
    """Where the API listens."""
    web: WebSettings = WebSettings()
    """The dashboard in the browser."""
    access: AccessSettings = AccessSettings()
    """Who may speak to the server (`docs/security.md`)."""
    limits: RequestLimits = RequestLimits()
    """What one request may ask for."""
    loop: LoopSettings = LoopSettings()
    """Times of the control loop and of calls to backends."""
    retention: Retention = Retention()
    """How long ended work and its history are kept."""
    recording: RecordingSettings = RecordingSettings()
    """What is recorded for `dovetail replay`."""
    logging: Logging = Logging()
    """What the server logs, to standard error."""
    scheduling: EngineSettings = EngineSettings()
    """Who is placed where, and who goes first."""
    topology: Annotated[TopologyFile | None, BeforeValidator(_as_topology_file)] = None
    """A file that describes the network, read at every start (`docs/topology.md`). A bare path is short for `file`."""
    backends: Annotated[dict[Name, BackendEntry], AfterValidator(_without_registered)] = {
        "local": BackendEntry.of("local")
    }
    """The systems that run work, by a name of your choice; the default is this machine. `registered` always exists as
    well."""
    hooks: dict[str, dict[str, Any]] = {}
    """Plugins that are told of every placement, by name, each with its own settings (entry point group
    `dovetail.hooks`)."""
    subsystems: Annotated[dict[str, dict[str, Any]], AfterValidator(_without_hooks)] = {}
    """Parts that run beside the scheduler, by name, each with its own settings (`CONTRIBUTING.md`)."""

    def subsystem_settings(self) -> dict[str, dict[str, Any]]:
        """By subsystem; hooks, which are one, have a field of their own."""
        return {**({"hooks": {"hooks": self.hooks}} if self.hooks else {}), **self.subsystems}

    @property
    def folder(self) -> Path:
        return Path(self.data).expanduser()

    @property
    def token_file(self) -> Path:
        """Of the admin token."""
        given = self.access.token_file
        return self.folder / "admin.token" if given is None else Path(given).expanduser()

    @property
    def database(self) -> Path:
        return self.folder / "dovetail.db"
