"""What a user submits: the one definition behind YAML files, REST bodies, the Python client and the CLI."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AliasChoices, Field, model_validator

from dovetail.model.quantity import Count, Duration
from dovetail.model.resources import Limits, Request
from dovetail.model.selection import Labels, NodeAffinity, Toleration
from dovetail.model.strict import Name, Strict

DEFAULT_NAMESPACE = "default"
MAX_LIST = 1000


class Kind(StrEnum):
    CONTAINER = "container"
    VM = "vm"
    JOB = "job"
    FUNCTION = "function"


class Priority(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    BATCH = "batch"

    @property
    def rank(self) -> int:
        """0 is most urgent."""
        return _RANKS[self]


_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


class Near(Strict):
    """Stay close to another workload of the same namespace, as far as the other scores allow."""

    near: Name


class BackendChoice(Strict):
    """Which backends may run it: names or patterns such as `kubernetes/*`."""

    allow: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default=[], max_length=100)


class Deadline(Strict):
    run_for: Duration | None = None


class Rehearsal(Strict):
    """What the simulated backend pretends; other backends ignore it."""

    run_time: Duration | None = None
    exit_code: Annotated[int, Field(ge=0, le=255)] = 0


class Run(Strict):
    """What to execute."""

    command: list[str] = Field(default=[], max_length=MAX_LIST)
    image: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = {}
    workdir: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    simulate: Rehearsal | None = None

    @model_validator(mode="after")
    def _no_nul(self) -> Self:
        for text in (*self.command, *self.env.values(), self.workdir or ""):
            if "\0" in text:
                raise ValueError("command, env and workdir cannot hold a NUL character")
        return self


class Workload(Strict):
    """Work to place: `replicas` identical tasks and everything the scheduler needs to know about them."""

    name: Name
    kind: Kind = Kind.JOB
    namespace: Name = DEFAULT_NAMESPACE
    user: Name | None = None
    labels: Labels = {}
    service: Name | None = None
    priority: Priority = Priority.MEDIUM
    replicas: Annotated[Count, Field(ge=1)] = 1
    resources: Request = Request()
    limits: Limits = Limits()
    node_selector: Labels = {}
    node_affinity: NodeAffinity = NodeAffinity()
    tolerations: list[Toleration] = Field(default=[], max_length=MAX_LIST)
    affinity: list[Near] = Field(default=[], max_length=100)
    backends: BackendChoice = BackendChoice()
    scheduler: Name | None = None
    profile: Name | None = Field(default=None, validation_alias=AliasChoices("profile", "strategy"))
    deadline: Deadline = Deadline()
    retries: Annotated[Count, Field(le=100)] = 0
    run: Run = Run()

    @model_validator(mode="after")
    def _limits_hold_requests(self) -> Self:
        for name in ("cpu", "memory"):
            limit, asked = getattr(self.limits, name), getattr(self.resources, name)
            if limit is not None and limit < asked:
                raise ValueError(f"limits.{name} is below resources.{name}: a task may use at least what it asks for")
        return self
