"""What expressions can refer to: `node`, `domain(…)`, `workload(…)`, `cluster`, and their fields.

A *thing* is not a value: it only has fields, which are things or values (*parts*). Each field records what it reads, so
that a program knows when its result may change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import LABELS, PLACEMENTS, RESOURCES, STATUS, TAINTS
from dovetail.constraints.programs.evaluation_context import AMOUNTS, NODES, TASKS, UTILISATION, EvaluationContext
from dovetail.constraints.programs.values import BOOL, DOUBLE, INT, STRING, Column, Type, Value, list_of
from dovetail.constraints.syntax.tree import NODE_LABELS, Call, Index, ListOf, Literal, Name, Select, Tree, children_of
from dovetail.model.resources import CORE_RESOURCES, CPU, EXTENDED_NAME, GPU

THOUSANDTHS = frozenset({CPU, GPU})  # what is counted so in the tables
AMOUNT_FIELDS = (*AMOUNTS, UTILISATION)
READERS = frozenset({"domain", "workload", "distance"})  # functions that read the cluster

Run = Callable[[EvaluationContext], Value]
Field = Callable[[], "VocabularyPart | VocabularyObject"]
Source = Callable[[EvaluationContext, str, str], F8]  # scene, what of it (`free`), resource


@dataclass(slots=True)
class Notes:
    """What an expression reads."""

    reads: set[str] = field(default_factory=set)
    levels: set[str] = field(default_factory=set)
    workloads: set[str] = field(default_factory=set)
    non_local: bool = False


@dataclass(frozen=True, slots=True)
class VocabularyPart:
    """A value: its type, and how it is computed."""

    type: Type
    run: Run


@dataclass(frozen=True, slots=True)
class VocabularyObject:
    """`fields` by name; `by_key` for `[…]`, given None where the key is not one it can have."""

    name: str
    fields: Mapping[str, Field]
    by_key: Callable[[str], VocabularyPart | None] | None = None
    has_key: Callable[[str], VocabularyPart] | None = None
    size: Callable[[], VocabularyPart] | None = None
    workload: str | None = None


def _whole(data: F8) -> Column:
    return Column(data.astype(np.int64))


def _noting(note: Callable[[], object], kind: Type, run: Run) -> Field:
    """A value that notes what it reads when an expression refers to it."""

    def made() -> VocabularyPart:
        note()
        return VocabularyPart(kind, run)

    return made


def amounts(name: str, what: str, source: Source, noted: Callable[[], object]) -> VocabularyObject:
    """`free`, `capacity`…: one field a resource, and extended resources by key."""

    def resource(key: str) -> VocabularyPart:
        noted()
        if what == UTILISATION:
            return VocabularyPart(DOUBLE, lambda scene: Column(source(scene, what, key)))
        if key in THOUSANDTHS:
            return VocabularyPart(DOUBLE, lambda scene: Column(np.asarray(source(scene, what, key) / 1000.0)))
        return VocabularyPart(INT, lambda scene: _whole(source(scene, what, key)))

    def by_key(key: str) -> VocabularyPart | None:
        return resource(key) if key in CORE_RESOURCES or EXTENDED_NAME.fullmatch(key) else None

    return VocabularyObject(name, {key: partial(resource, key) for key in CORE_RESOURCES}, by_key)


def _all_amounts(name: str, source: Source, noted: Callable[[], object]) -> dict[str, Field]:
    return {what: partial(amounts, f"{name}.{what}", what, source, noted) for what in AMOUNT_FIELDS}


def node(notes: Notes) -> VocabularyObject:
    def of(group: str, kind: Type, run: Run) -> Field:
        return _noting(lambda: notes.reads.add(group), kind, run)

    def labels() -> VocabularyObject:
        notes.reads.add(LABELS)
        return VocabularyObject(
            "node.labels",
            {},
            lambda key: VocabularyPart(STRING, lambda scene: scene.label(key)),
            lambda key: VocabularyPart(BOOL, lambda scene: Column(scene.has_label(key))),
            lambda: VocabularyPart(INT, lambda scene: _whole(scene.view.label_counts)),
        )

    return VocabularyObject(
        "node",
        {
            "name": of(STATUS, STRING, lambda scene: scene.node_name),
            "backend": of(STATUS, STRING, lambda scene: scene.backend),
            "labels": labels,
            "taints": of(TAINTS, list_of(STRING), lambda scene: scene.taints),
            "kinds": of(STATUS, list_of(STRING), lambda scene: scene.kinds),
            "load": of(RESOURCES, DOUBLE, lambda scene: Column(scene.view.load)),
            "tasks": of(RESOURCES, INT, lambda scene: _whole(scene.of_node("allocated", TASKS))),
            **_all_amounts("node", EvaluationContext.of_node, lambda: notes.reads.add(RESOURCES)),
        },
    )


def domain(notes: Notes, level: str, name: str | None = None) -> VocabularyObject:
    """The domain of this name at a level, or else the node's own."""

    def source(scene: EvaluationContext, what: str, resource: str) -> F8:
        if name is None:
            return scene.of_domain(level, what, resource)
        return scene.of_named(level, name, what, resource)

    def noted() -> None:
        notes.reads |= {LABELS, RESOURCES}
        notes.levels.add(level)
        notes.non_local = True

    def own_name() -> VocabularyPart:
        notes.reads |= {LABELS, STATUS}
        return VocabularyPart(STRING, lambda scene: scene.domain_name(level))

    written = f'domain("{level}")' if name is None else f'domain("{level}", "{name}")'
    fields = _summed(written, source, noted)
    return VocabularyObject(written, fields if name is not None else {**fields, "name": own_name})


def whole_cluster(notes: Notes) -> VocabularyObject:
    def noted() -> None:
        notes.reads.add(RESOURCES)
        notes.non_local = True

    waiting = VocabularyPart(INT, lambda scene: Column(np.array(scene.waiting)))
    return VocabularyObject(
        "cluster", {**_summed("cluster", EvaluationContext.of_all, noted), "waiting": lambda: waiting}
    )


def _summed(name: str, source: Source, noted: Callable[[], object]) -> dict[str, Field]:
    return {
        **_all_amounts(name, source, noted),
        "nodes": _noting(noted, INT, lambda scene: _whole(source(scene, NODES, ""))),
        "tasks": _noting(noted, INT, lambda scene: _whole(source(scene, "allocated", TASKS))),
    }


def other_workload(name: str, notes: Notes) -> VocabularyObject:
    """A workload of the submitter's namespace."""

    def of(kind: Type, run: Run) -> Field:
        return _noting(lambda: note_workload(name, notes), kind, run)

    return VocabularyObject(
        f'workload("{name}")',
        {
            "nodes": of(list_of(STRING), lambda scene: scene.nodes_of(name)),
            "tasks": of(INT, lambda scene: Column(np.array(len(scene.rows_of(name))))),
            "here": of(INT, lambda scene: _whole(scene.tasks_here(name))),
        },
        workload=name,
    )


def note_workload(name: str, notes: Notes) -> None:
    notes.reads |= {PLACEMENTS, STATUS}
    notes.workloads.add(name)
    notes.non_local = True


def distance(of: Callable[[EvaluationContext], F8], notes: Notes) -> VocabularyPart:
    notes.reads |= {LABELS, PLACEMENTS}
    notes.non_local = True
    return VocabularyPart(DOUBLE, lambda scene: Column(of(scene)))


def readings(tree: Tree) -> list[Tree]:
    """As large as can be (`node.free.memory`, `distance(…)`), each once, in the order written."""
    found: dict[Tree, None] = {}
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if is_reading(one):
            found[one] = None
        else:
            waiting.extend(reversed(children_of(one)))
    return list(found)


def is_reading(tree: Tree) -> bool:
    match tree:
        case Select(of) | Index(of, Literal()):
            return not isinstance(of, ListOf) and (isinstance(of, Name) or is_reading(of) or _is_thing(of))
        case Call("distance"):
            return True
        case Call("size", (of,)) | Call("in", (Literal(), of)):
            return of == NODE_LABELS
    return False


def _is_thing(tree: Tree) -> bool:
    return isinstance(tree, Call) and tree.name in READERS and not tree.method
