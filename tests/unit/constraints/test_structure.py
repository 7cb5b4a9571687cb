"""Structures and texts that say the same."""
# ruff: noqa: E501 (a text and what is said of it stand in one line)

from typing import Any

import pytest
from tests.unit.constraints.small_cluster import SPACE, small_cluster

from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node
from dovetail.constraints.programs.structure import structure_of, text_of
from dovetail.model.workloads.constraint import Structured


def _written(fields: dict[str, Any]) -> str:
    return text_of(Structured.model_validate(fields))


BOTH_WAYS: list[tuple[dict[str, Any], str]] = [
    ({"left": "node.labels.zone", "operator": "eq", "right": "a"}, 'node.labels.zone == "a"'),
    ({"left": "node.labels.zone", "operator": "neq", "right": "a"}, 'node.labels.zone != "a"'),
    ({"left": "node.labels.zone", "operator": "in", "right": ["a", "b"]}, 'node.labels.zone in ["a", "b"]'),
    ({"left": "node.labels.zone", "operator": "not_in", "right": []}, "!(node.labels.zone in [])"),
    ({"left": "node.labels.spot", "operator": "exists"}, "has(node.labels.spot)"),
    ({"left": "node.labels.a.b/c", "operator": "exists"}, '"a.b/c" in node.labels'),
    ({"left": "node.labels.a.b/c", "operator": "eq", "right": "x"}, 'node.labels["a.b/c"] == "x"'),
    ({"left": "node.labels.gen", "operator": "gt", "right": 3}, "int(node.labels.gen) > 3"),
    ({"left": "node.labels.gen", "operator": "le", "right": 3.5}, "double(node.labels.gen) <= 3.5"),
    ({"left": "node.free.memory", "operator": "ge", "right": "64GiB"}, "node.free.memory >= GiB(64)"),
    ({"left": "node.free.memory", "operator": "ge", "right": "64GB"}, 'node.free.memory >= quantity("64GB")'),
    ({"left": "node.free.cpu", "operator": "lt", "right": "500m"}, 'node.free.cpu < cores("500m")'),
    ({"left": "node.free.cpu", "operator": "lt", "right": 2}, "node.free.cpu < 2"),
    ({"left": 'domain("rack").free.gpu', "operator": "ge", "right": 8}, 'domain("rack").free.gpu >= 8'),
    ({"left": 'distance(workload("db"))', "operator": "lt", "right": 20.5}, 'distance(workload("db")) < 20.5'),
    (
        {
            "logical_operator": "or",
            "sub_expressions": [
                {"left": "node.tasks", "operator": "eq", "right": 0},
                {
                    "logical_operator": "and",
                    "sub_expressions": [
                        {"left": "node.load", "operator": "lt", "right": 0.5},
                        {"logical_operator": "not", "sub_expressions": [{"left": "node.labels.x", "operator": "exists"}]},
                    ],
                },
            ],
        },
        "node.tasks == 0 || node.load < 0.5 && !has(node.labels.x)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "text"), BOTH_WAYS)
def test_a_structure_and_its_text_turn_into_each_other(fields: dict[str, Any], text: str) -> None:
    assert _written(fields) == text
    assert structure_of(text) == fields
    compile_node(text)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"left": "labels.zone", "operator": "eq", "right": "a"}, 'node.labels.zone == "a"'),
        ({"left": "labels.topology.kubernetes.io/zone", "operator": "eq", "right": "a"}, 'node.labels["topology.kubernetes.io/zone"] == "a"'),
        ({"left": "free.nvidia.com/gpu", "operator": "gt", "right": 0}, 'node.free["nvidia.com/gpu"] > 0'),
        ({"left": "name", "operator": "in", "right": ["a"]}, 'node.name in ["a"]'),
        ({"left": "labels.gen", "operator": "eq", "right": 3}, 'node.labels.gen == "3"'),
        ({"left": "labels.on", "operator": "eq", "right": True}, 'node.labels.on == "true"'),
        ({"left": "labels.x", "operator": "eq", "right": 0.5}, 'node.labels.x == "0.5"'),
        ({"left": "free.memory", "operator": "gt", "right": 5}, "node.free.memory > 5"),
        ({"left": "tasks", "operator": "eq", "right": 0, "logical_operator": "NOT"}, "!(node.tasks == 0)"),
        (
            {"left": "tasks", "operator": "eq", "right": 0, "logical_operator": "AND", "sub_expressions": [{"left": "load", "operator": "lt", "right": 1}]},
            "node.tasks == 0 && node.load < 1",
        ),
    ],
)  # fmt: skip
def test_shorter_spellings_are_understood(fields: dict[str, Any], text: str) -> None:
    assert _written(fields) == text
    compile_node(text)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "says nothing; give left, operator and right, or sub_expressions"),
        ({"left": "name"}, "operator is missing; give one of eq, neq, lt, le, gt, ge, in, not_in, exists"),
        ({"operator": "eq", "right": 1}, "left is missing; say what is compared, such as node.labels.zone or free.memory"),
        ({"left": "name", "operator": "eq"}, "right is missing; say what name is compared with"),
        ({"left": "name", "operator": "in", "right": "a"}, "right must be a list for in, got 'a'"),
        ({"left": "name", "operator": "eq", "right": {}}, "right must be a text, a number, true or false, got a mapping"),
        ({"left": "free.memory", "operator": "gt", "right": "4 apples"}, "unknown unit 'apples' in '4 apples'; write bytes with a unit such as 512MiB, 64GiB, 10GB or 1048576"),
        ({"left": "tasks", "operator": "gt", "right": "many"}, "right must be a number here, got 'many'"),
        ({"left": "tasks", "operator": "gt", "right": 2**70}, f"right {2**70} does not fit into 64 bits"),
        ({"left": "load", "operator": "gt", "right": float("inf")}, "right inf is not a finite number"),
        ({"left": "free.gpux", "operator": "gt", "right": 1}, "left 'free.gpux': node.free has no field 'gpux'. Did you mean 'gpu'?"),
        ({"left": "a b", "operator": "gt", "right": 1}, "left 'a b': expected an operator such as && or == before b"),
        ({"left": "free.gpu", "operator": "exists"}, "exists asks for labels, such as node.labels.spot; 'free.gpu' is none"),
        ({"left": "labels.x", "operator": "exists", "right": 1}, "exists takes no right"),
        (
            {"logical_operator": "or", "sub_expressions": [{"left": "load", "operator": "lt", "right": 1}, {"sub_expressions": [{}]}]},
            "sub_expressions[1].sub_expressions[0]: says nothing; give left, operator and right, or sub_expressions",
        ),
        (
            {"sub_expressions": [{"left": "load", "operator": "lt", "right": 1}] * 2},
            "logical_operator is missing; say how the 2 parts are joined: and, or",
        ),
        (
            {"logical_operator": "not", "sub_expressions": [{"left": "load", "operator": "lt", "right": 1}] * 2},
            "logical_operator not takes one expression; join several with and or or inside it",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        _written(fields)
    assert str(error.value) == message
    assert error.value.caret == message


@pytest.mark.parametrize(
    "text",
    [
        "node.free.cpu + 1.0 > 2",
        'node.labels.zone.startsWith("a")',
        "node.labels.zone == node.name",
        "int(node.labels.gen) == 3",
        "int(node.labels.gen) > 3.5",
        "node.tasks > GiB(1)",
        "true",
        '"a" in node.taints',
        "node.tasks == 0 && node.load * 2.0 < 1.0",
    ],
)
def test_what_a_structure_cannot_say_has_none(text: str) -> None:
    assert structure_of(text) is None


def test_a_text_passes_as_it_is() -> None:
    assert text_of(" node.tasks  == 0") == " node.tasks  == 0"


def test_a_comparison_written_the_other_way_round_is_turned() -> None:
    assert structure_of("64 < node.free.cpu") == {"left": "node.free.cpu", "operator": "gt", "right": 64}


@pytest.mark.parametrize("text", [text for _, text in BOTH_WAYS])
def test_the_way_there_and_back_means_the_same_on_every_node(text: str) -> None:
    fields = structure_of(text)
    assert fields is not None
    view = View(small_cluster())
    before, after = (compile_node(one).evaluate(view, SPACE) for one in (text, _written(fields)))
    assert [one.tolist() for one in before] == [one.tolist() for one in after]
