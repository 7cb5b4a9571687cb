"""Our array programs against Google's implementation of CEL, node by node: the same true, false or error on each."""

import random
from typing import Any

import numpy as np
import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]
from tests.examples import seeds
from tests.property.random_expressions import AMOUNTS, MIG, Expressions, random_nodes

from dovetail.cluster.arrays import Rows
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.program import NodeProgram, why_not
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.writer import write
from dovetail.model.resources import CORE_RESOURCES
from dovetail.model.task import TaskId

BATCHES = seeds(6)
EXPRESSIONS = 250  # of a batch, asked of the same nodes
NODES = 12


def _overload(kind: Any, name: str) -> Any:
    """GiB is ours; theirs fails where a number does not fit into 64 bits, as it should."""
    return cel.Overload(name, cel.Type.INT, [kind], False, lambda value: int(value * 2**30))


ENVIRONMENT = cel.NewEnv(
    variables={"node": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
    functions=[cel.FunctionDecl("GiB", [_overload(cel.Type.INT, "gib_int"), _overload(cel.Type.DOUBLE, "gib_double")])],
)


def _cluster(chance: random.Random) -> Cluster:
    cluster = Cluster()
    for node in random_nodes(chance, NODES):
        cluster.join(node)
    for replica in range(NODES):
        amounts = {"cpu": chance.choice((0, 250, 1000)), "memory": chance.choice((0, 5, 2**30)), "slots": 1}
        cluster.place(TaskId(1, replica), chance.randrange(NODES), cluster.resources.vector(amounts))
    for name in cluster.rows:
        for now in range(chance.randint(0, 4)):
            cluster.observe(name, {"cpu": chance.randrange(4000), "memory": chance.randrange(2**40)}, now * 60.0)
    cluster.leave(chance.choice([name for name, row in cluster.rows.items() if not cluster.placements.by_row[row]]))
    return cluster


def _as_seen_by_cel(cluster: Cluster, name: str) -> dict[str, Any]:
    """The node as plain values, by another way than the columns take."""
    view, row = View(cluster), cluster.rows[name]
    node = cluster.node(name)
    found: dict[str, Any] = {
        "name": name,
        "backend": node.backend,
        "labels": dict(node.labels),
        "taints": [taint.key for taint in cluster.taints.row(row)],
        "load": float(cluster.resources.load[row]),
        "tasks": len(cluster.placements.by_row[row]),
        "utilisation": {},
    }
    for what in AMOUNTS:
        read = getattr(view, what)
        raw = {resource: float(read(resource)[row]) for resource in (*CORE_RESOURCES, MIG)}
        found[what] = {key: one / 1000 if key in ("cpu", "gpu") else int(one) for key, one in raw.items()}
    for resource in CORE_RESOURCES:
        used, whole = found["allocated"][resource], found["capacity"][resource]
        found["utilisation"][resource] = used / whole if whole else 0.0
    return found


def _theirs(expression: Any, activation: Any) -> str:
    value = expression.eval(activation)
    return "error" if value.type() == cel.Type.ERROR else str(value.value())


@pytest.mark.slow
def test_every_node_gets_the_same_answer_as_from_googles_implementation() -> None:
    answers = {"True": 0, "False": 0, "error": 0}
    for seed in BATCHES:
        chance = random.Random(f"batch {seed}")
        cluster = _cluster(chance)
        view = View(cluster)
        activations = {
            row: ENVIRONMENT.Activation({"node": _as_seen_by_cel(cluster, name)}) for name, row in cluster.rows.items()
        }
        expressions = Expressions(chance)
        for _ in range(EXPRESSIONS):
            text = expressions.condition()
            true, error = NodeProgram(text, parse(text)).evaluate(view, "default")
            compiled = ENVIRONMENT.compile(text, disable_check=True)  # they refuse some comparisons that we accept
            for row, activation in activations.items():
                ours = "error" if error[row] else str(bool(true[row]))
                theirs = _theirs(compiled, activation)
                assert ours == theirs, f"{text}\non {cluster.names[row]}: {ours}, theirs {theirs}"
                answers[ours] += 1
    # The comparison means something only if all three happen often.
    assert min(answers.values()) > sum(answers.values()) / 20, answers


def test_a_view_of_some_nodes_answers_as_the_view_of_all_does() -> None:
    chance = random.Random(5)
    cluster = _cluster(chance)
    whole, rows = View(cluster), list(cluster.rows.values())
    expressions = Expressions(chance)
    for _ in range(400):
        text = expressions.condition()
        program = NodeProgram(text, parse(text))
        chosen = chance.sample(rows, 3)
        for ours, all_of_them in zip(
            program.evaluate(whole.subset(_rows(chosen)), "default"), program.evaluate(whole, "default"), strict=True
        ):
            assert ours.tolist() == all_of_them[chosen].tolist(), text


def test_what_is_written_parses_to_the_same_tree() -> None:
    expressions = Expressions(random.Random(6))
    for _ in range(500):
        tree = parse(expressions.condition())
        assert parse(write(tree)) == tree


def test_parts_joined_together_are_the_whole_and_every_refusal_has_words() -> None:
    chance = random.Random(7)
    cluster = _cluster(chance)
    view = View(cluster)
    expressions = Expressions(chance)
    for _ in range(150):
        text = expressions.condition()
        program = NodeProgram(text, parse(text))
        true, _ = program.evaluate(view, "default")
        together = [part.evaluate(view, "default")[0] for part in program.parts]
        assert true.tolist() == [all(column) for column in zip(*(one.tolist() for one in together), strict=True)], text
        for row in cluster.rows.values():
            words = why_not(program, view, "default", row)
            assert "\n" not in words
            assert (words == "it holds here") == bool(true[row]), (text, words)


def _rows(chosen: list[int]) -> Rows:
    return np.array(chosen, dtype=np.intp)
