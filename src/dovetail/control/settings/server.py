"""Settings: a YAML file, overlaid by DOVETAIL_* variables; every value checked, every mistake named with its line.

`DOVETAIL_LISTEN__PORT=9000` sets `listen.port`; double underscores go one level down. SCHEDULING_STRATEGY names the
default profile, as the VM scheduler's users know it.
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.access.addresses import EVERY_ADDRESS, is_loopback
from dovetail.backends.registry import BackendEntry
from dovetail.control.settings.partial_reading import copied, read_what_is_right
from dovetail.control.settings.topology_file import TopologyFile, read_topology_file
from dovetail.control.subsystems.registry import checked_settings, find_subsystem
from dovetail.engine.settings import EngineSettings
from dovetail.model.plugin_loading import PluginError
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.quantity import Bytes, Count, Duration
from dovetail.model.text.reading import only_document
from dovetail.model.text.strict import AtField, Name, Strict
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import ProfileSettings, UnknownProfile
from dovetail.placement.registry import build_filter, build_hook, build_score
from dovetail.queueing.orderings import OrderingError, build_ordering
from dovetail.queueing.tree import DEFAULT_QUEUE, BadQueues, QueueTree

PREFIX = "DOVETAIL_"
STRATEGY_VARIABLE = "SCHEDULING_STRATEGY"
#: Variables of other parts of Dovetail that share the prefix.
NOT_SETTINGS = frozenset(
    {"DOVETAIL_URL", "DOVETAIL_TOKEN", "DOVETAIL_TOKEN_FILE", "DOVETAIL_CONFIG", "DOVETAIL_SECRET_KEY"}
)
DEFAULT_PORT = 8080
REGISTERED = "registered"


HostName = Annotated[str, Field(pattern=r"^\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=253)]


FilePath = Annotated[str, Field(min_length=1, max_length=3000)]
SELF_SIGNED = "self-signed"


class ListenTls(Strict):
    """Certificates of the API. Without files the server makes one for itself, `tls.crt` in its data folder."""

    certificate: FilePath | None = None
    """The server's certificate, and below it those that signed it, a PEM file."""
    key: FilePath | None = None
    """Its key, a PEM file."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            missing = "certificate" if self.certificate is None else "key"
            raise AtField((missing,), "is missing: certificate and key are given together")
        return self


def _as_tls(value: Any) -> Any:
    return {} if value == SELF_SIGNED else value


class WebSettings(Strict):
    """The dashboard."""

    enabled: bool = True
    """Serve the dashboard at `/`, on the port of the API. Without it, only the API answers."""


class Listen(Strict):
    host: Annotated[str, Field(min_length=1, max_length=253)] = "127.0.0.1"
    """The address that the server listens on. Others can reach it only if it is not the loopback: `0.0.0.0` is every
    address of this machine, and needs `tls`."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """The TCP port of the API; 0 takes a free one."""
    names: Annotated[list[HostName], Field(max_length=100)] = []
    """Names under which clients reach it, besides this machine's own: `batch.example.org`, or `.example.org` for
    every name below. A request that names another host is refused with 421; addresses always work."""

    tls: Annotated[ListenTls | None, BeforeValidator(_as_tls)] = None
    """Speak https: `self-signed`, or certificate and key. Needed beyond the loopback."""
    allow_plain_http: bool = False
    """Listen beyond the loopback without TLS, where others can read tokens and work on the way. Say so only if a proxy
    before the server speaks TLS, or if nobody else is in that network."""

    @model_validator(mode="after")
    def _encrypted_beyond_loopback(self) -> Self:
        if not (self.is_loopback or self.tls is not None or self.allow_plain_http):
            words = (
                f"is missing: others can read what is sent to {self.host!r}; write self-signed, or certificate and key"
            )
            raise AtField(("tls",), f"{words}. If a proxy speaks TLS, write allow_plain_http: true instead")
        return self

    @property
    def is_loopback(self) -> bool:
        """Only programs of this machine can reach it."""
        return is_loopback(self.host)

    @property
    def known_names(self) -> list[str]:
        """Names and addresses under which it is reached, for a certificate."""
        usual = ["localhost", "127.0.0.1", "::1", *self.names]
        if self.is_loopback:
            return usual
        return [*usual, socket.gethostname(), *([] if self.host in EVERY_ADDRESS else [self.host])]


class AccessSettings(Strict):
    token_file: FilePath | None = None
    """A file with the admin token, one word of at least 20 letters and digits, if you make it yourself: a secret of
    your cluster manager, say. By default the first start makes `admin.token` in the data folder."""


class RequestLimits(Strict):
    max_body: Bytes = 8 * 2**20
    """The largest body of a request; a larger one is refused with 413."""
    max_bodies: Annotated[Bytes, Field(ge=1)] = 64 * 2**20
    """The bodies that are received or checked at the same time, together; more are refused with 503."""
    max_headers: Annotated[Count, Field(ge=10)] = 100
    """The most headers of a request; more are refused with 431."""
    max_headers_size: Annotated[Bytes, Field(ge=1024)] = 64 * 2**10
    """The address and the headers of a request, together; larger ones are refused with 431."""
    max_connections: Annotated[Count, Field(ge=1)] = 12_000
    """The most connections at the same time; more are refused with 503. An agent keeps two. It is lowered to what the
    account may open (`ulimit -n`), less 256 for files."""
    header_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 10.0
    """A connection whose request has no complete headers after this time is closed, with 408."""
    body_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 60.0
    """A connection whose request has no complete body after this time is closed, with 408."""
    check_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 10.0
    """How much CPU time reading and checking one body may take; one that needs more is refused with 422."""
    max_batch: Annotated[Count, Field(ge=1)] = 500
    """The most workloads in one submission."""
    max_replicas: Annotated[Count, Field(ge=1)] = 10_000
    """The most replicas of one workload."""
    max_streams: Annotated[Count, Field(ge=1)] = 256
    """The most streams of events and output that one client address has open; another one is refused with 429."""
    max_batch_replicas: Annotated[Count, Field(ge=1)] = 50_000
    """The most replicas of all workloads in one submission, together."""
    max_tasks: Annotated[Count, Field(ge=1)] = 500_000
    """The most tasks that wait or run at the same time; a submission beyond them is refused with 409."""


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


def load_settings(path: Path | None, env: Mapping[str, str]) -> Settings:
    """File, then variables. Raises Invalid with every mistake found."""
    if path is None:
        document = Document({}, "settings")
    else:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise Invalid([Complaint(str(path), None, "", f"cannot be read: {error.strerror}")]) from None
        document = only_document(text, str(path))
    if not isinstance(document.data, dict):
        raise Invalid([Complaint(document.source, document.line_of(()), "", "settings are a mapping of fields")])
    complaints: list[Complaint] = []
    overlaid = Document(_overlaid(document.data, env, complaints), document.source, document.lines)
    settings, mistakes = read_what_is_right(Settings, overlaid)
    if settings is not None:
        mistakes += _plugin_mistakes(settings, overlaid)
    if complaints or mistakes or settings is None:
        by_line = sorted(mistakes, key=lambda one: one.line or 0)
        raise Invalid(complaints + _blaming(by_line, env))
    return settings


def _blaming(complaints: list[Complaint], env: Mapping[str, str]) -> list[Complaint]:
    """Complaints about a value from a variable name the variable, not a line of the file."""
    by_field = {".".join(_path(name)): name for name in env if _is_setting(name)}
    if env.get(STRATEGY_VARIABLE):
        by_field.setdefault("scheduling.default_profile", STRATEGY_VARIABLE)
    found = []
    for complaint in complaints:
        name = next((by_field[f] for f in by_field if f"{complaint.field}.".startswith(f"{f}.")), None)
        found.append(complaint if name is None else replace(complaint, source=f"variable {name}", line=None))
    return found


def _is_setting(name: str) -> bool:
    return name.startswith(PREFIX) and name not in NOT_SETTINGS


def _path(name: str) -> list[str]:
    return name.removeprefix(PREFIX).lower().split("__")


def _overlaid(data: dict[str, Any], env: Mapping[str, str], complaints: list[Complaint]) -> dict[str, Any]:
    """The data with the variables in it; `complaints` gets those about variables that cannot be used."""
    found: dict[str, Any] = copied(data)
    if strategy := env.get(STRATEGY_VARIABLE):
        found.setdefault("scheduling", {})["default_profile"] = strategy
    for name, value in sorted(env.items()):
        if _is_setting(name):
            try:
                _set(found, name, value)
            except Invalid as invalid:
                complaints += invalid.complaints
    return found


def _set(found: dict[str, Any], name: str, value: str) -> None:
    *parents, last = _path(name)
    place = found
    for parent in parents:
        inner = place.setdefault(parent, {})
        if not isinstance(inner, dict):
            words = f"goes below {parent!r}, which is not a mapping"
            raise Invalid([Complaint("environment", None, name, words)])
        place = inner
    place[last] = _value(name, value)


def _value(name: str, text: str) -> Any:
    """A variable's value reads like YAML: `9000` is a number, `[a, b]` a list."""
    documents = read_documents(text, f"environment variable {name}") if text.strip() else []
    return documents[0].data if documents else ""


def _plugin_mistakes(settings: Settings, document: Document) -> list[Complaint]:
    """Build every profile, plugin, ordering and queue, so that mistakes show at start."""
    complaints: list[Complaint] = []

    @contextmanager
    def building(*field: str | int) -> Iterator[None]:
        try:
            yield
        except (PluginError, OrderingError, BadQueues) as error:
            complaints.append(Complaint(document.source, document.line_of(field), field_name(field), str(error)))

    _check_scheduling(settings.scheduling, building, _written_profiles(document))
    for name, given in settings.hooks.items():
        with building("hooks", name):
            build_hook(name, given)
    for name, given in settings.subsystems.items():
        with building("subsystems", name):
            checked_settings(find_subsystem(name), given)
    try:
        read_topology_file(settings.topology)
    except Invalid as invalid:
        complaints += invalid.complaints
    return complaints


def _written_profiles(document: Document) -> set[str]:
    """Names of profiles in the document, also of those that are wrong: to name one of them is no second mistake."""
    data: Any = document.data
    scheduling = data.get("scheduling")
    profiles = scheduling.get("profiles") if isinstance(scheduling, dict) else None
    return set(profiles) if isinstance(profiles, dict) else set()


Building = Callable[..., AbstractContextManager[None]]


def _check_scheduling(scheduling: EngineSettings, building: Building, written: set[str]) -> None:
    profiles = scheduling.all_profiles()
    named: dict[tuple[str, ...], str] = {("default_profile",): scheduling.default_profile}
    orders = {("profiles", name, "order"): profile.order for name, profile in profiles.items()}
    for name, scheduler in scheduling.schedulers.items():
        if scheduler.profile is not None:
            named["schedulers", name, "profile"] = scheduler.profile
        if scheduler.order is not None:
            orders["schedulers", name, "order"] = scheduler.order
    for field, profile in named.items():
        with building("scheduling", *field):
            if profile not in profiles and profile not in written:
                raise PluginError(str(UnknownProfile(profile, list(profiles))))
    for name, profile_settings in profiles.items():
        _check_profile(name, profile_settings, building)
    with building("scheduling", "strategies"):
        scheduling.all_strategies()
    for order_field, order in orders.items():
        with building("scheduling", *order_field):
            build_ordering(order, scheduling.fair.ageing)
    with building("scheduling", "queues", DEFAULT_QUEUE):
        QueueTree(scheduling.queues)


def _check_profile(name: str, profile: ProfileSettings, building: Building) -> None:
    """Each plugin by itself, so that all that are wrong are named; a profile of good ones as a whole."""
    good = True
    filters = [(("filters", place), plugin, build_filter) for place, plugin in enumerate(profile.filters)]
    scores = [(("scores", plugin), plugin, build_score) for plugin in profile.scores]
    for field, plugin, build in [*filters, *scores]:
        if plugin in profile.settings:
            continue  # what is wrong with its settings, the profile says
        with building("scheduling", "profiles", name, *field):
            try:
                build(plugin, {})
            except PluginError:
                good = False
                raise
    if good:
        with building("scheduling", "profiles", name):
            Evaluator(name, profile)
