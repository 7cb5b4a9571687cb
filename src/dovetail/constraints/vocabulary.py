"""What expressions may speak of: `node`, `domain(…)`, `workload(…)`, `cluster`, and their fields.

A *thing* is not a value: it only has fields, which are things or values (*parts*). Each field notes what it reads, so
that a program knows when its result may change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS, PLACEMENTS, RESOURCES, STATUS, TAINTS
from dovetail.constraints.scene import AMOUNTS, NODES, TASKS, UTILISATION, Scene
from dovetail.constraints.types import BOOL, DOUBLE, INT, STRING, Type, list_of
from dovetail.constraints.values import Column, Value
from dovetail.model.resources import CORE_RESOURCES, CPU, EXTENDED_NAME, GPU

THOUSANDTHS = frozenset({CPU, GPU})  # what is counted so in the tables
AMOUNT_FIELDS = (*AMOUNTS, UTILISATION)

Run = Callable[[Scene], Value]
Source = Callable[[Scene, str, str], F8]  # scene, what of it (`free`), resource


@dataclass(slots=True)
class Notes:
    """What an expression looks at."""

    reads: set[str] = field(default_factory=set)
    levels: set[str] = field(default_factory=set)
    workloads: set[str] = field(default_factory=set)
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A value: its type, and how it is computed."""

    type: Type
    run: Run


@dataclass(frozen=True, slots=True)
class Thing:
    """`fields` by name; `by_key` for `[…]`, given None where the key is not one it can have."""

    name: str
    fields: Mapping[str, "Callable[[], Part | Thing]"]
    by_key: Callable[[str], Part | None] | None = None
    has_key: Callable[[str], Part] | None = None
    size: Callable[[], Part] | None = None
    workload: str | None = None


def _whole(data: F8) -> Column:
    return Column(data.astype(np.int64))


def amounts(name: str, what: str, source: Source, noted: Callable[[], object]) -> Thing:
    """`free`, `capacity`…: one field a resource, and extended resources by key."""

    def resource(key: str) -> Part:
        noted()
        if what == UTILISATION:
            return Part(DOUBLE, lambda scene: Column(source(scene, what, key)))
        if key in THOUSANDTHS:
            return Part(DOUBLE, lambda scene: Column(np.asarray(source(scene, what, key) / 1000.0)))
        return Part(INT, lambda scene: _whole(source(scene, what, key)))

    def by_key(key: str) -> Part | None:
        return resource(key) if key in CORE_RESOURCES or EXTENDED_NAME.fullmatch(key) else None

    return Thing(name, {key: _bound(resource, key) for key in CORE_RESOURCES}, by_key)


def _bound(make: Callable[[str], Part], key: str) -> "Callable[[], Part | Thing]":
    return lambda: make(key)


def _all_amounts(name: str, source: Source, noted: Callable[[], object]) -> "dict[str, Callable[[], Part | Thing]]":
    def one(what: str) -> Callable[[], Part | Thing]:
        return lambda: amounts(f"{name}.{what}", what, source, noted)

    return {what: one(what) for what in AMOUNT_FIELDS}


def node(notes: Notes) -> Thing:
    def reading(group: str, part: Part) -> Callable[[], Part]:
        def made() -> Part:
            notes.reads.add(group)
            return part

        return made

    def labels() -> Thing:
        notes.reads.add(LABELS)
        return Thing(
            "node.labels",
            {},
            lambda key: Part(STRING, lambda scene: scene.label(key)),
            lambda key: Part(BOOL, lambda scene: Column(scene.has_label(key))),
            lambda: Part(INT, lambda scene: _whole(scene.view.label_counts)),
        )

    return Thing(
        "node",
        {
            "name": reading(STATUS, Part(STRING, lambda scene: scene.node_name)),
            "backend": reading(STATUS, Part(STRING, lambda scene: scene.backend)),
            "labels": labels,
            "taints": reading(TAINTS, Part(list_of(STRING), lambda scene: scene.taints)),
            "kinds": reading(STATUS, Part(list_of(STRING), lambda scene: scene.kinds)),
            "load": reading(RESOURCES, Part(DOUBLE, lambda scene: Column(scene.view.load))),
            "tasks": reading(RESOURCES, Part(INT, lambda scene: _whole(scene.of_node("allocated", TASKS)))),
            **_all_amounts("node", Scene.of_node, lambda: notes.reads.add(RESOURCES)),
        },
    )


def own_domain(level: str, notes: Notes) -> Thing:
    """The node's own domain at a level."""

    def source(scene: Scene, what: str, resource: str) -> F8:
        return scene.of_domain(level, what, resource)

    def noted() -> None:
        notes.reads |= {LABELS, RESOURCES}
        notes.levels.add(level)
        notes.beyond = True

    def name() -> Part:
        notes.reads |= {LABELS, STATUS}
        return Part(STRING, lambda scene: scene.domain_name(level))

    return Thing(f'domain("{level}")', {**_summed(f'domain("{level}")', source, noted), "name": name})


def named_domain(level: str, name: str, notes: Notes) -> Thing:
    def source(scene: Scene, what: str, resource: str) -> F8:
        return scene.of_named(level, name, what, resource)

    def noted() -> None:
        notes.reads |= {LABELS, RESOURCES}
        notes.levels.add(level)
        notes.beyond = True

    return Thing(f'domain("{level}", "{name}")', _summed(f'domain("{level}", "{name}")', source, noted))


def whole_cluster(notes: Notes) -> Thing:
    def noted() -> None:
        notes.reads.add(RESOURCES)
        notes.beyond = True

    waiting = Part(INT, lambda scene: Column(np.array(scene.waiting)))
    return Thing("cluster", {**_summed("cluster", Scene.of_all, noted), "waiting": lambda: waiting})


def _summed(name: str, source: Source, noted: Callable[[], object]) -> "dict[str, Callable[[], Part | Thing]]":
    def count(what: str, resource: str) -> Callable[[], Part]:
        def made() -> Part:
            noted()
            return Part(INT, lambda scene: _whole(source(scene, what, resource)))

        return made

    return {
        **_all_amounts(name, source, noted),
        "nodes": count(NODES, ""),
        "tasks": count("allocated", TASKS),
    }


def other_workload(name: str, notes: Notes) -> Thing:
    """A workload of the submitter's namespace."""

    def noted(part: Part) -> Callable[[], Part]:
        def made() -> Part:
            note_workload(name, notes)
            return part

        return made

    return Thing(
        f'workload("{name}")',
        {
            "nodes": noted(Part(list_of(STRING), lambda scene: scene.nodes_of(name))),
            "tasks": noted(Part(INT, lambda scene: Column(np.array(len(scene.rows_of(name)))))),
            "here": noted(Part(INT, lambda scene: _whole(scene.tasks_here(name)))),
        },
        workload=name,
    )


def note_workload(name: str, notes: Notes) -> None:
    notes.reads |= {PLACEMENTS, STATUS}
    notes.workloads.add(name)
    notes.beyond = True


def distance(of: Callable[[Scene], F8], notes: Notes) -> Part:
    notes.reads |= {LABELS, PLACEMENTS}
    notes.beyond = True
    return Part(DOUBLE, lambda scene: Column(of(scene)))
