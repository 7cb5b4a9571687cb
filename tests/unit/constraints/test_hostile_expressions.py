"""Texts that mean harm: too long, too deep, too many, or built to make a pattern search for ever."""

import re

import pytest

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node
from dovetail.constraints.programs.structure import text_of
from dovetail.model.node import Node
from dovetail.model.workloads.constraint import Structured
from dovetail.model.workloads.limits import MAX_EXPRESSION

DEEP = 10_000
HALF = 600  # as many levels as fit into the length that is accepted, with room to spare

HOSTILE = {
    "a text of a megabyte": ("x" * 1_000_000, "1000000 characters long"),
    "a string of a megabyte": ('node.name == "' + "x" * 1_000_000 + '"', "characters long"),
    "brackets, far too long": ("(" * DEEP + "true" + ")" * DEEP, "characters long"),
    "brackets": ("(" * HALF + "true" + ")" * HALF, "nested deeper than 64"),
    "lists": ("[" * HALF + "1" + "]" * HALF + " == []", "nested deeper than 64"),
    "exclamation marks": ("!" * HALF + "true", "nested deeper than 64"),
    "minus signs": ("-" * HALF + "1 > 0", "nested deeper than 64"),
    "calls": ("int(" * HALF + "1" + ")" * HALF + " > 0", "nested deeper than 64"),
    "indices": ("a[" * HALF + "1" + "]" * HALF, "nested deeper than 64"),
    "braces": ("{" * HALF, "nested deeper than 64"),
    "braces that are closed": ("{" * 30 + "}" * 30, "} does not belong here"),
    "choices": ("true ? true : " * 200 + "true", "nested deeper than 100"),
    "fields": ("node" + ".a" * 300, "nested deeper than 100"),
    "sums": ("1" + " + 1" * 300 + " > 0", "nested deeper than 100"),
    "comparisons": ("1" + " == 1" * 300, "nested deeper than 100"),
    "words": ("a " * 1500, "more than 1000 words and signs"),
    "an open string of backslashes": ('"' + "\\" * 4001, "this string is not closed"),
    "a macro in a macro in a macro": (
        f"[{', '.join(['1'] * 80)}].all(a, [{', '.join(['1'] * 80)}].all(b, [{', '.join(['1'] * 80)}].all(c, a > b)))",
        "too large",
    ),
    "a macro over many items": (f"[{', '.join(['1'] * 200)}].all(a, a > 0)", "at most 100"),
    "Python": ("__import__('os').system('true')", "unknown function '__import__'"),
    "a dunder": ("node.__class__ == node", "node has no field '__class__'"),
    "a lambda": ("(lambda: 1)()", "does not belong here"),
    "an assignment": ("node := 3", "= compares nothing; write =="),
    "a number of many digits": ("9" * 4000 + " > 0", "does not fit into 64 bits"),
    "a name of many letters": ("n" * 4000, "unknown name"),
    "a pattern that repeats too often": ('node.name.matches("((a{100}){100}){100}")', "this pattern cannot be read"),
    "nothing but a null byte": ("\0", "has no meaning here"),
    "other digits": ("node.free.cpu > ٣", "has no meaning here"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_with_one_short_line(name: str) -> None:
    text, message = HOSTILE[name]
    with pytest.raises(ExpressionError, match=re.escape(message)) as error:
        compile_node(text)
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)
    assert len(error.value.caret) < 600


def test_long_chains_of_and_are_flat_and_accepted() -> None:
    text = " && ".join(["node.tasks < 1000"] * 160)
    assert len(text) < MAX_EXPRESSION
    assert len(compile_node(text).parts) == 160


def test_a_catastrophic_pattern_is_answered_in_linear_time() -> None:
    cluster = Cluster()
    cluster.join(Node(name="n", labels={"long": "a" * 62 + "b"}))
    assert compile_node('node.labels.long.matches("^(a+)+$")').holds(View(cluster), "").tolist() == [False]  # type: ignore[union-attr]


def test_a_structure_of_any_depth_is_refused_without_recursion() -> None:
    deep = Structured.model_validate({"left": "name", "operator": "eq", "right": "a"})
    for _ in range(DEEP):
        deep = Structured.model_construct(sub_expressions=[deep], logical_operator="not")
    with pytest.raises(ExpressionError, match="nested deeper than 64 levels"):
        text_of(deep)


def test_a_structure_of_too_many_parts_is_refused() -> None:
    one = {"left": "name", "operator": "eq", "right": "a"}
    half = {"logical_operator": "or", "sub_expressions": [one] * 500}
    with pytest.raises(ExpressionError, match="more than 1000 sub_expressions"):
        text_of(Structured.model_validate({"logical_operator": "or", "sub_expressions": [half, half]}))
