"""The one declaration of a subsystem: its name, and where its settings, metrics, tables, routes and commands are.

Every part of code is a reference, `module:name`, that is imported when it is needed: the command line reads
declarations at each start and must not load servers for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SubsystemCommand:
    """A command of `dovetail`: one line of help, and a reference to a function (`dovetail.cli.terminal.parameters`) or
    a `click.Command`."""

    help: str
    command: str


@dataclass(frozen=True, slots=True)
class SubsystemDeclaration:
    """
    build       refers to a class derived from `contract.Subsystem`; called with its `SubsystemContext`
    settings    refers to a `Strict` model; the settings `subsystems.NAME` of the server are read by it
    metrics     refers to a function of a Prometheus registry, called once; its result is `context.metrics`
    migrations  the folder with its Alembic revisions; then `context.tables` is a database of its own
    opens_later the subsystem opens its tables itself, when it first needs them
    shared      refers to a function of its tables (None without migrations), called once; its result is what the
                subsystem and the rest of the server both use, from several threads: `context.shared`, `host.shared`
    routes      refers to a FastAPI router; its paths begin with /api/v1/subsystems/NAME
    commands    by name, commands of `dovetail`
    always      it runs although no settings name it
    hang_s      it counts as hung when its event loop stands still, or one step takes, for longer than that
    """

    name: str
    build: str
    settings: str = "dovetail.placement.contract:NoSettings"
    metrics: str = ""
    migrations: Path | None = None
    opens_later: bool = False
    shared: str = ""
    routes: str = ""
    commands: Mapping[str, SubsystemCommand] = field(default_factory=dict)
    always: bool = False
    hang_s: float = 60.0
