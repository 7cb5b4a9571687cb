"""A simulation that goes on where a snapshot was taken, with what is different.

The engine is restored as after a restart of the server; then nodes leave and join, work is cancelled and submitted.
Guarantees: the same snapshot, changes and seed give the same decisions. Raises `Unplayable` for a change that names
what is not there. Left to others: playing it (`replay`), run times (`run_times`).
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dovetail.engine.admission.admission import Admission
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.event import CancelAsked, DistancesMeasured, Event, NodeJoined, NodeLeft
from dovetail.model.node import Node
from dovetail.model.record import Snapshot
from dovetail.model.requests.terms import Terms, terms_json
from dovetail.model.text.strict import closest
from dovetail.model.workloads.reading import by_role
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import WITH_MARKET
from dovetail.simulate.changes import AddedNodes, ClusterChanges, PlannedFailure
from dovetail.simulate.replay import Simulation, Start, Unplayable, Watch, engine_of
from dovetail.simulate.run_times import RunTimeGuess
from dovetail.simulate.scenario import ClusterFile, Incident
from dovetail.snapshots.conversion import records_of
from dovetail.snapshots.document import SnapshotDocument, SnapshotWorkload

OWN_PROFILE = "what-if"
REASON = "what if it were not there"
Arrivals = Iterable[tuple[float, Workload]]


def simulation_from(
    document: SnapshotDocument,
    changes: ClusterChanges,
    seed: int = 0,
    *,
    arrivals: Arrivals = (),
    horizon_s: float | None = None,
    measured: bool = True,
    watch: Watch | None = None,
) -> Simulation:
    """`arrivals`: more work, in order, at seconds from the snapshot on. Raises Unplayable."""
    settings = with_profile(document.settings, changes)
    edited, new = _edits(document, changes)
    trial = engine_of(settings)
    admission = Admission(trial)

    def terms_of(spec: Workload) -> str:
        return terms_json(admission.terms_of(spec))

    _check_definitions(admission, [*edited.values(), *new])
    records = records_of(_edited(document, edited), terms_of)
    if changes.profile is not None:
        _route_again(document, records, admission)
    guess = RunTimeGuess(document.learned, seed)
    specs = {one.id: edited.get(one.id, one.definition) for one in document.workloads}
    timed = {id_: guess.timed(spec, str(id_)) for id_, spec in specs.items()}
    nodes = [one.node for one in document.nodes]
    added = list(_added(nodes, changes.add_nodes))
    trial.restore(replace(records, workloads=[]))  # for the names of domains alone
    incidents = [one for failed in changes.fail for one in _incidents(Questions(trial), failed)]
    submitted = [(0.0, guess.timed(spec, spec.name)) for spec in new]
    later = ((at, guess.timed(spec, spec.name)) for at, spec in arrivals)
    return Simulation(
        settings,
        _world(nodes + added),
        heapq.merge(submitted, later, key=lambda arrival: arrival[0]),
        seed,
        nodes=nodes + added,
        incidents=incidents,
        horizon_s=horizon_s,
        start=Start(records, timed, document.taken_at, tuple(_first_events(document, changes, added))),
        measured=measured,
        watch=watch,
    )


def with_profile(settings: EngineSettings, changes: ClusterChanges) -> EngineSettings:
    """The settings with the default profile that the changes name or define. Raises Unplayable."""
    profile = changes.profile
    if profile is None:
        return settings
    if isinstance(profile, str):
        known = settings.all_profiles()
        if profile not in known:
            raise Unplayable(f"unknown profile {profile!r}.{closest(profile, known)} Known: {', '.join(known)}")
        return settings.model_copy(update={"default_profile": profile})
    profiles = {**settings.profiles, OWN_PROFILE: profile}
    return settings.model_copy(update={"default_profile": OWN_PROFILE, "profiles": profiles})


# --- workloads -----------------------------------------------------------------------------------------------------


def _edits(document: SnapshotDocument, changes: ClusterChanges) -> tuple[dict[int, Workload], list[Workload]]:
    """Definitions that replace live ones, by id, and those of new workloads."""
    live = {(one.definition.namespace, one.definition.name): one.id for one in document.workloads}
    edited: dict[int, Workload] = {}
    new: list[Workload] = []
    for spec in (one for given in changes.workloads for one in by_role(given)):
        id_ = live.get((spec.namespace, spec.name))
        if id_ is None:
            new.append(spec)
        else:
            edited[id_] = spec
    return edited, new


def _edited(document: SnapshotDocument, edited: dict[int, Workload]) -> SnapshotDocument:
    """Edited workloads wait as if they had been submitted so in the first place."""
    if not edited:
        return document
    found = [
        SnapshotWorkload(id=one.id, definition=edited[one.id], submitted_at=one.submitted_at)
        if one.id in edited
        else one
        for one in document.workloads
    ]
    return document.model_copy(update={"workloads": found})


def _check_definitions(admission: Admission, specs: Sequence[Workload]) -> None:
    for spec in specs:
        for objection in admission.objections(spec):
            if objection.reason != "unknown_policy":  # policies are restored later
                raise Unplayable(f"{spec.namespace}/{spec.name}: {objection.complaint.message}")


def _route_again(document: SnapshotDocument, records: Snapshot, admission: Admission) -> None:
    """Workloads that name no profile of their own get the new one; everything else of their terms stays."""
    known: dict[tuple[str, str, str | None], str] = {}
    specs = {one.id: one.definition for one in document.workloads}
    for restored in records.workloads:
        spec = specs[restored.id]
        if spec.profile is not None:
            continue
        key = (restored.shape_json, spec.namespace, spec.scheduler)
        if key not in known:
            terms = Terms.from_json(restored.shape_json)
            plain = spec.model_copy(update={"prefer": None})
            profile = admission.terms_of(plain).shape.profile.removesuffix(WITH_MARKET)
            suffix = WITH_MARKET if terms.shape.profile.endswith(WITH_MARKET) else ""
            known[key] = terms_json(replace(terms, shape=replace(terms.shape, profile=profile + suffix)))
        restored.shape_json = known[key]


def workloads_named(document: SnapshotDocument, refs: Iterable[str | int]) -> list[int]:
    """Raises Unplayable."""
    found: list[int] = []
    for ref in refs:
        text = str(ref)
        space, _, name = text.rpartition("/")
        ids = [
            one.id
            for one in document.workloads
            if str(one.id) == text or (one.definition.name == name and space in ("", one.definition.namespace))
        ]
        if len(ids) != 1:
            words = "there is no live workload" if not ids else f"{len(ids)} live workloads are called"
            raise Unplayable(f"cancel: {words} {text!r}; write NAMESPACE/NAME or its id")
        found += ids
    return found


# --- nodes ---------------------------------------------------------------------------------------------------------


def _added(nodes: list[Node], wanted: Sequence[AddedNodes]) -> Iterator[Node]:
    by_name = {node.name: node for node in nodes}
    taken = set(by_name)
    for group in wanted:
        if group.like is not None and group.like not in by_name:
            raise Unplayable(f"add_nodes: there is no node {group.like!r}.{closest(group.like, by_name)}")
        like = None if group.like is None else by_name[group.like]
        number = 0
        for _ in range(group.count):
            number += 1
            while (name := f"{group.prefix}-{number}") in taken:
                number += 1
            taken.add(name)
            yield _like(like, group, name) if like is not None else _made(group, name, nodes)


def _like(node: Node, group: AddedNodes, name: str) -> Node:
    labels = {**{key: value for key, value in node.labels.items() if value != node.name}, **group.labels}
    if node.labels.get("kubernetes.io/hostname") == node.name:
        labels["kubernetes.io/hostname"] = name
    return node.model_copy(update={"name": name, "labels": labels, "address": None, "inventory": None})


def _made(group: AddedNodes, name: str, nodes: list[Node]) -> Node:
    backend = nodes[0].backend if nodes else "registered"
    return Node(
        name=name, backend=backend, capacity=group.capacity or nodes[0].capacity, gpus=group.gpus,
        labels=group.labels, taints=group.taints,
    )  # fmt: skip


def _first_events(document: SnapshotDocument, changes: ClusterChanges, added: Iterable[Node]) -> Iterator[Event]:
    if document.measured is not None:
        rows = [[np.nan if one is None else one for one in row] for row in document.measured.distance]
        yield DistancesMeasured(tuple(document.measured.names), np.array(rows, dtype=np.float32))
    known = {one.node.name for one in document.nodes}
    for name in changes.remove_nodes:
        if name not in known:
            raise Unplayable(f"remove_nodes: there is no node {name!r}.{closest(name, known)}")
        yield NodeLeft(name, REASON)
    for node in added:
        yield NodeJoined(node)
    for id_ in workloads_named(document, changes.cancel):
        yield CancelAsked(id_, "what if it were cancelled")


def _incidents(questions: Questions, failed: PlannedFailure) -> list[Incident]:
    """Of a node, or of each node of a domain of that name."""
    names = [failed.name] if failed.name in questions.nodes else []
    known: list[str] = []
    for level in questions.network.levels():
        domains = questions.nodes.domain_names(level.present.name)
        known += domains
        if not names and failed.name in domains:
            names = questions.nodes.in_domain(level.present.name, failed.name)
    if not names:
        raise Unplayable(f"fail: there is no node or domain {failed.name!r}.{closest(failed.name, known)}")
    reason = f"{failed.name} failed"
    found = [Incident(at=failed.at, fail=name, reason=reason) for name in names]
    if failed.repair is not None:
        found += [Incident(at=failed.at + failed.repair, repair=name, reason="repaired") for name in names]
    return found


def _world(nodes: list[Node]) -> ClusterFile:
    if not nodes:
        raise Unplayable("there is no node in this snapshot, and none is added")
    return ClusterFile(nodes=nodes, forever=True)
