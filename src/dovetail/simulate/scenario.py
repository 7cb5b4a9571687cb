"""A scenario file: a cluster, work that arrives, things that happen, and the settings to decide by.

    cluster:   {groups: [{prefix: n, count: 10, capacity: {cpu: 16, memory: 64GiB}}]}
    workloads: [{name: train, at: 10s, replicas: 4, resources: {cpu: 8}}]
    stream:    {rate: 0.5, duration: 1h}
    events:    [{at: 5m, fail: n-01}]
    settings:  {default_profile: best_fit}
    horizon:   2h

Everything is checked when it is read; what is wrong is said with its line. Leaves playing it to `replay`.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.settings import MAX_NODES, SimulatedSettings
from dovetail.engine.questions.policy_questions import PolicyQuestions
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import Event, NodeCordoned, NodeDrained, NodeHealthChanged, NodeJoined, NodeLeft
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document
from dovetail.model.text.quantity import Duration
from dovetail.model.text.reading import check_documents, only_document, read_one
from dovetail.model.text.strict import AtField, NodeName, Strict, closest
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.stream import Stream

BACKEND = "simulated"
KINDS = ("fail", "repair", "cordon", "uncordon", "drain", "leave", "join")


class ClusterFile(SimulatedSettings):
    """What the simulated backend can be told, nodes one by one, each on a backend of its own if wanted, and how the
    network between them is where their labels do not say all of it."""

    nodes: list[Node] = Field(default=[], max_length=MAX_NODES)
    topology: Topology | None = None

    @model_validator(mode="after")
    def _check_nodes(self) -> Self:
        """Replaces the check of the base, which knows groups and leaves only."""
        total = len(self.nodes) + sum(group.count for group in self.groups)
        total += self.leaf_spine.nodes if self.leaf_spine is not None else 0
        if not total:
            raise ValueError("describes no node; give groups: [{prefix: n, count: 10}], leaf_spine: {} or nodes: [...]")
        if total > MAX_NODES:
            raise ValueError(f"describes {total} nodes; the most is {MAX_NODES}")
        seen: set[str] = set()
        for node in self.fleet():
            if node.name in seen:
                raise ValueError(f"two nodes are called {node.name!r}; give one of them another name or prefix")
            seen.add(node.name)
        return self

    def fleet(self) -> list[Node]:
        """Every node, in the order of joining: those named one by one, groups, then leaves."""
        return [*self.nodes, *fleet(self, BACKEND)]

    @property
    def restless(self) -> bool:
        """Things go on happening when all work is done."""
        return self.node_failures is not None or self.observe is not None


class Incident(Strict):
    """What happens to a node at a given moment, one thing: `{at: 10m, fail: n-3}`. `fail` takes a node offline and ends
    what it runs (which `replay` does); `repair` brings it back; `leave` is for good."""

    at: Duration
    fail: NodeName | None = None
    repair: NodeName | None = None
    cordon: NodeName | None = None
    uncordon: NodeName | None = None
    drain: NodeName | None = None
    leave: NodeName | None = None
    join: Node | None = None
    reason: Annotated[str, Field(max_length=500)] = ""

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            said = "nothing" if not given else " and ".join(given)
            raise ValueError(f"says {said}; an event names exactly one of {', '.join(KINDS)}")
        return self

    @property
    def kind(self) -> str:
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def node(self) -> str:
        """The name of the node it is about."""
        found = getattr(self, self.kind)
        return found.name if isinstance(found, Node) else str(found)

    def event(self) -> Event:
        reason = self.reason or f"scenario: {self.kind}"
        match self.kind:
            case "fail" | "repair":
                return NodeHealthChanged(self.node, self.kind == "repair", reason)
            case "cordon" | "uncordon":
                return NodeCordoned(self.node, self.kind == "cordon", reason)
            case "drain":
                return NodeDrained(self.node, reason)
            case "leave":
                return NodeLeft(self.node, reason)
        assert self.join is not None
        return NodeJoined(self.join)


class Arrival(Workload):
    """A workload and when it is submitted."""

    at: Duration = 0.0


class Scenario(Strict):
    cluster: ClusterFile
    workloads: list[Arrival] = Field(default=[], max_length=1_000_000)
    stream: Stream | None = None
    events: list[Incident] = Field(default=[], max_length=100_000)
    policies: list[Policy] = Field(default=[], max_length=1000)
    settings: EngineSettings = EngineSettings()
    horizon: Duration | None = Field(default=None, description="stop here, whatever still runs or waits")
    seed: int = 0

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        if not self.workloads and self.stream is None:
            raise ValueError("has no work; give workloads: [...] or stream: {rate: 1, duration: 1h}")
        if self.horizon is None:
            if self.stream is not None and self.stream.endless:
                raise AtField(("stream",), "never ends; give it a duration or a count, or give the scenario a horizon")
            if self.cluster.restless:
                raise AtField(
                    ("cluster",), "node_failures and observe never end; give the scenario a horizon, such as 2h"
                )
        profile, profiles = self.settings.default_profile, self.settings.all_profiles()
        if profile not in profiles:
            words = f"unknown profile {profile!r}.{closest(profile, profiles)} Known: {', '.join(profiles)}"
            raise AtField(("settings", "default_profile"), words)
        return self._names_differ()._events_name_nodes()

    def _names_differ(self) -> Self:
        names: set[tuple[str, str]] = set()
        for index, work in enumerate(self.workloads):
            if (work.namespace, work.name) in names:
                words = f"{work.name!r} stands twice in namespace {work.namespace!r}; give it another name"
                raise AtField(("workloads", index, "name"), words)
            names.add((work.namespace, work.name))
        return self

    def _events_name_nodes(self) -> Self:
        known = {node.name for node in self.cluster.fleet()} | {e.join.name for e in self.events if e.join is not None}
        for index, event in enumerate(self.events):
            if event.node not in known:
                raise AtField(("events", index, event.kind), f"there is no node {event.node!r} in this scenario")
        return self

    def arrivals(self, seed: int) -> Iterator[tuple[float, Workload]]:
        """Everything that is submitted, in order; at the same moment, workloads of the file before the stream's."""
        listed = sorted(((work.at, work) for work in self.workloads), key=lambda arrival: arrival[0])
        streamed = self.stream.arrivals(seed) if self.stream is not None else iter(())
        return heapq.merge(listed, streamed, key=lambda arrival: arrival[0])


def read_scenario(text: str | bytes, source: str, horizon_s: float | None = None) -> Scenario:
    """The scenario of a file, up to another horizon if one is given. Raises Invalid with everything that is wrong."""
    document = only_document(text, source)
    if horizon_s is not None and isinstance(document.data, dict):
        document = Document({**document.data, "horizon": horizon_s}, source, document.lines)
    scenario = check_documents(Scenario, [document])[0]
    if complaints := [one for policy in scenario.policies for one in PolicyQuestions.complaints(policy)]:
        raise Invalid(complaints)
    return scenario


def read_cluster(text: str | bytes, source: str) -> ClusterFile:
    """A cluster in a file of its own. Raises Invalid."""
    return read_one(ClusterFile, text, source)


def scenario_of(workloads: Iterable[Workload], cluster: ClusterFile, horizon_s: float | None = None) -> Scenario:
    """Workloads on a cluster, all submitted at once. Raises Invalid."""
    arrivals = [
        Arrival.model_validate({name: getattr(spec, name) for name in Workload.model_fields}) for spec in workloads
    ]
    try:
        return Scenario(cluster=cluster, workloads=arrivals, horizon=horizon_s)
    except ValidationError as error:
        raise Invalid(complaints_of(error, Scenario, Document({}, "simulation"))) from None
