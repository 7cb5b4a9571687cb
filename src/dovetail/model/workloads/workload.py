"""The workload definition: one model for YAML files, REST bodies, the Python client and the CLI."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, Field, model_validator

from dovetail.model.resources import Limits, ResourceRequest
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import MAX_NAME, AtField, Name, Strict, check_name, shared, shown, text_format
from dovetail.model.workloads.affinity import Affinity, ConflictField, Spread, Traffic
from dovetail.model.workloads.arrangement import Arrangement
from dovetail.model.workloads.array_indices import ArrayText, parse_array
from dovetail.model.workloads.constraint import Constraint, check_expressions
from dovetail.model.workloads.function import FunctionCall, selector_in
from dovetail.model.workloads.limits import MAX_ALL_VALUES, MAX_CONSTRAINTS, MAX_LIST
from dovetail.model.workloads.preference import DataInput, PlacePreference, PreferenceWeights
from dovetail.model.workloads.roles import MAX_ROLES, Role
from dovetail.model.workloads.run import Printable, Run
from dovetail.model.workloads.selection import Labels, NodeAffinity, Toleration, as_text
from dovetail.model.workloads.virtual_machine import VirtualMachine

DEFAULT_NAMESPACE = "default"
MAX_QUEUE_PATH = 300


def check_path(value: str) -> str:
    """A path of names such as `research/nlp`."""
    if len(value) > MAX_QUEUE_PATH:
        raise ValueError(f"is {len(value)} characters long; a queue's path has at most {MAX_QUEUE_PATH}")
    for part in value.split("/"):
        check_name(part)
    return value


Pattern = Annotated[Printable, Field(min_length=1, max_length=200)]
QueuePath = Annotated[str, AfterValidator(check_path), text_format("queue-path", least=1, most=MAX_QUEUE_PATH)]


class WorkloadKind(StrEnum):
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
        """0 is the highest priority."""
        return _RANKS[self]


_RANKS = {priority: rank for rank, priority in enumerate(Priority)}


class BackendChoice(Strict):
    """The backends that may run it: names or patterns such as `kubernetes/*`."""

    allow: Annotated[list[Pattern], Field(max_length=100)] = shared([])


class Deadline(Strict):
    """`run_for`: the maximum run time of one attempt; backfilling relies on it. `schedule_within`: tasks that had no
    node by then fail with reason `timeout`. `finish_within`: when it should have ended, counted from its submission;
    with a preference for low prices it waits for cheap nodes as long as this allows."""

    run_for: Duration | None = None
    schedule_within: Annotated[Duration, Field(gt=0)] | None = None
    finish_within: Annotated[Duration, Field(gt=0)] | None = None


class Gang(Strict):
    """At least `min` tasks start together or none does; other replicas follow when there is capacity. With a `group`,
    all workloads of the namespace that name the same group count together. `hold`: if a running gang falls below its
    minimum, the other tasks release their nodes; if false, they keep running."""

    min: Annotated[Count, Field(ge=1)]
    group: Name | None = None
    hold: bool = True


class Condition(StrEnum):
    SUCCEEDED = "succeeded"
    FINISHED = "finished"


class After(Strict):
    """Start only after another workload of the same namespace has succeeded, or just ended: see `condition`."""

    workload: Name
    condition: Condition = Condition.SUCCEEDED


class Disruption(Strict):
    """What may happen to running tasks when more urgent work needs their nodes."""

    allowed: bool = True
    max_unavailable: Annotated[Count, Field(ge=1)] | None = None
    min_run_time: Duration | None = None
    checkpoint_every: Annotated[Duration, Field(gt=0)] | None = None
    grace: Duration | None = None


def _check_limits(at: tuple[str | int, ...], limits: Limits, resources: ResourceRequest) -> None:
    for name in ("cpu", "memory"):
        limit, asked = getattr(limits, name), getattr(resources, name)
        if limit is not None and limit < asked:
            words = f"is below resources.{name}: a task may use at least what it asks for"
            raise AtField((*at, "limits", name), words)


Path = tuple[str | int, ...]


def _by_role(roles: "list[RunRole]") -> list[tuple[Path, list[Constraint]]]:
    return [(("roles", index), role.constraints or []) for index, role in enumerate(roles)]


class RunRole(Role):
    """A role and what it executes; by default the workload's `run`."""

    run: Run | None = None


class TaskTemplate(Strict):
    """What a task is, asks for and executes: the fields that workloads and services share."""

    name: Name
    namespace: Name = DEFAULT_NAMESPACE
    user: Name | None = None
    labels: Labels = shared({})
    priority: Priority = Priority.MEDIUM
    resources: ResourceRequest = shared(ResourceRequest())
    limits: Limits = shared(Limits())
    node_selector: Labels = shared({})
    node_affinity: NodeAffinity = shared(NodeAffinity())
    tolerations: Annotated[list[Toleration], Field(max_length=MAX_LIST)] = shared([])
    constraints: Annotated[list[Constraint], Field(max_length=MAX_CONSTRAINTS)] = shared([])
    policies: Annotated[list[Name], Field(max_length=20)] = shared([])
    affinity: Annotated[list[Affinity], Field(max_length=100)] = shared([])
    spread: Annotated[list[Spread], Field(max_length=10)] = shared([])
    conflicts: Annotated[list[ConflictField], Field(max_length=20)] = shared([])
    traffic: Annotated[list[Traffic], Field(max_length=100)] = shared([])
    backends: BackendChoice = shared(BackendChoice())
    prefer: PlacePreference | PreferenceWeights | None = None
    inputs: Annotated[list[DataInput], Field(max_length=100)] = shared([])
    scheduler: Name | None = None
    profile: Name | None = Field(default=None, validation_alias=AliasChoices("profile", "strategy"))
    queue: QueuePath | None = None
    disruption: Disruption = shared(Disruption())
    run: Run = shared(Run())

    def _roles(self) -> list[RunRole]:
        return []

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        selections = [self.node_affinity, *[role.node_affinity for role in self._roles() if role.node_affinity]]
        if (values := sum(one.size for one in selections)) > MAX_ALL_VALUES:
            words = f"compares with {values} values; at most {MAX_ALL_VALUES} are accepted in one workload"
            raise AtField(("node_affinity",), f"{words}: give the nodes that are meant one label")
        for at, constraints in [((), self.constraints), *_by_role(self._roles())]:
            try:
                check_expressions([one.expression for one in constraints])
            except ValueError as error:
                raise AtField((*at, "constraints"), str(error)) from None
        return self

    @model_validator(mode="after")
    def _check_limits_of_tasks(self) -> Self:
        _check_limits((), self.limits, self.resources)
        for index, role in enumerate(self._roles()):
            _check_limits(("roles", index), role.limits or self.limits, role.resources or self.resources)
        return self

    @model_validator(mode="after")
    def _check_traffic(self) -> Self:
        seen: set[str] = set()
        for index, traffic in enumerate(self.traffic):
            if traffic.to in seen:
                raise AtField(("traffic", index, "to"), f"{traffic.to!r} is given twice; add the two up")
            seen.add(traffic.to)
        return self


class RestartPolicy(StrEnum):
    """When a task that has ended is started again: after `retries` failures at most, or always."""

    ON_FAILURE = "on_failure"
    ALWAYS = "always"


class Workload(TaskTemplate):
    """`replicas` identical tasks and everything the scheduler needs to know about them. `array`: an index for each
    task, such as `1-10`; `%2` after it is short for `concurrency: 2`. `restart: always`: a task that has ended starts
    again, with growing pauses, until the workload is cancelled. `function`: the function that each task calls; nodes
    without it are left out by `node_selector`, and `kind` is `function`."""

    kind: WorkloadKind = WorkloadKind.JOB
    function: FunctionCall | None = None
    service: Name | None = None
    replicas: Annotated[Count, Field(ge=1)] = 1
    array: ArrayText | None = None
    gang: Gang | None = None
    roles: Annotated[list[RunRole], Field(max_length=MAX_ROLES)] = shared([])
    topology: Arrangement | None = None
    concurrency: Annotated[Count, Field(ge=1)] | None = None
    after: Annotated[list[After], Field(max_length=100)] = shared([])
    deadline: Deadline = shared(Deadline())
    retries: Annotated[Count, Field(le=100)] = 0
    restart: RestartPolicy = RestartPolicy.ON_FAILURE
    vm: VirtualMachine | None = None

    def _roles(self) -> list[RunRole]:
        return self.roles

    @model_validator(mode="before")
    @classmethod
    def _size_of_array(cls, data: Any) -> Any:
        """An array says how many tasks there are, and how many run at once."""
        if not isinstance(data, dict) or data.get("array") is None:
            return data
        try:
            array = parse_array(str(as_text(data["array"])))
        except ValueError:
            return data  # the field itself complains
        return {"replicas": array.size, **({"concurrency": array.concurrency} if array.concurrency else {}), **data}

    @model_validator(mode="before")
    @classmethod
    def _nodes_of_function(cls, data: Any) -> Any:
        """A function runs only where it is deployed."""
        if not isinstance(data, dict) or data.get("function") is None:
            return data
        given = data.get("node_selector")
        if given is not None and not isinstance(given, dict):
            return data  # the field itself complains
        return {"kind": WorkloadKind.FUNCTION, **data, "node_selector": {**selector_in(data), **(given or {})}}

    @model_validator(mode="after")
    def _check_function(self) -> Self:
        if self.function is None:
            return self
        if self.kind is not WorkloadKind.FUNCTION:
            raise AtField(("kind",), f"is {self.kind}, but function says what to call; leave kind out")
        if self.run.command or self.run.image is not None or self.roles:
            field = "roles" if self.roles else "run"
            raise AtField((field,), "does not go with function, which runs its own code; give it a payload")
        for label, value in self.function.selector().items():
            if self.node_selector[label] != value:
                words = f"is {shown(self.node_selector[label])}, but function.name says {shown(value)}; leave it out"
                raise AtField(("node_selector", label), words)
        return self

    @model_validator(mode="after")
    def _check_array(self) -> Self:
        if self.array is not None:
            array = parse_array(self.array)
            if self.roles:
                raise AtField(("array",), "does not go with roles; give each role its replicas")
            if self.replicas != array.size:
                raise AtField(("replicas",), f"is {self.replicas}, but array has {array.size} indices; leave it out")
            if array.concurrency is not None and self.concurrency != array.concurrency:
                raise AtField(("concurrency",), f"is not what array says after %: {array.concurrency}; leave one out")
        return self

    @model_validator(mode="after")
    def _check_gang(self) -> Self:
        if self.gang is not None:
            if self.gang.min > self.replicas and self.gang.group is None and not self.roles:
                words = f"{self.gang.min} is more than replicas: {self.replicas}; raise replicas, or lower it"
                raise AtField(("gang", "min"), words)
            if self.concurrency is not None and self.concurrency < self.gang.min and self.gang.group is None:
                raise AtField(("concurrency",), f"is below gang.min: {self.gang.min} tasks have to run at once")
        return self

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        if not self.roles:
            return self
        if self.replicas != 1:
            raise AtField(("replicas",), "is set by each role; give it there")
        seen: set[str] = set()
        for index, role in enumerate(self.roles):
            if role.name in seen:
                raise AtField(("roles", index, "name"), f"{role.name!r} is given twice; a role is written once")
            seen.add(role.name)
            if len(self.name) + 1 + len(role.name) > MAX_NAME:
                words = f"with the workload's name is longer than {MAX_NAME} characters; shorten one of them"
                raise AtField(("roles", index, "name"), words)
        total = sum(role.replicas for role in self.roles)
        if self.gang is not None and self.gang.group is not None:
            raise AtField(("gang", "group"), "roles are a group of their own; leave it out")
        if self.gang is not None and self.gang.min > total:
            raise AtField(("gang", "min"), f"{self.gang.min} is more than the {total} tasks of its roles")
        return self

    @model_validator(mode="after")
    def _check_bandwidth(self) -> Self:
        several = self.replicas > 1 or bool(self.roles) or (self.gang is not None and self.gang.group is not None)
        if self.topology is not None and self.topology.bandwidth is not None and not several:
            words = "is what each task can send to the others, and there is only one; give replicas or leave it out"
            raise AtField(("topology", "bandwidth"), words)
        return self

    @model_validator(mode="after")
    def _check_vm(self) -> Self:
        if self.vm is None:
            return self
        if self.kind is not WorkloadKind.VM:
            raise AtField(("vm",), f"goes with kind: vm; this workload is of kind {self.kind}")
        if self.run.command or self.run.image is not None:
            words = "a VM runs what its image, kernel or cloud-init says; put the command there"
            raise AtField(("run", "command" if self.run.command else "image"), words)
        if not self.resources.memory:
            raise AtField(("resources", "memory"), "is missing: a VM gets the memory that it asks for")
        if self.vm.adopt is not None and (self.replicas != 1 or self.roles):
            raise AtField(("vm", "adopt"), "takes over one VM; leave replicas and roles out")
        for field, (resource, needed) in self.vm.taken(self.resources.memory).items():
            if self.resources.amounts().get(resource, 0) != needed:
                words = f"its memory takes {needed} of them; write {resource}: {needed} under resources"
                raise AtField(("vm", field), f"{words}, so that they are counted")
        return self

    @model_validator(mode="after")
    def _check_after(self) -> Self:
        for index, after in enumerate(self.after):
            if after.workload == self.name:
                raise AtField(("after", index, "workload"), f"{self.name!r} cannot wait for itself")
        return self
