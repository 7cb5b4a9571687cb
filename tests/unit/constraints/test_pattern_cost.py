"""Patterns: bounded in size, and answered before a decision needs the answers."""

import pytest

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.pattern_answers import answer_all, patterns_in
from dovetail.constraints.programs.functions import pattern
from dovetail.constraints.programs.program import compile_node
from dovetail.model.workloads.workload import Workload


def test_a_pattern_that_is_large_once_it_is_written_out_is_refused() -> None:
    with pytest.raises(ExpressionError, match=r"it has \d+ steps; at most 500 are accepted: repeat less"):
        compile_node("node.name.matches('(a|b)*a(a|b){900}c')")


def test_patterns_of_a_workload_are_found_with_what_they_are_about() -> None:
    structured = {"left": "node.labels.zone", "operator": "eq", "right": "a"}
    spec = Workload.model_validate(
        {
            "name": "w",
            "constraints": [
                {"require": "node.name.matches('a+') || (has(node.labels.zone) && node.labels.zone.matches('b+'))"},
                {"prefer": structured},
                {"avoid": "matches(node.labels['x/y'], 'c+')"},
            ],
        }
    )
    assert patterns_in(spec) == {("a+", None), ("b+", "zone"), ("c+", "x/y")}


def test_an_answer_that_was_worked_out_before_is_not_worked_out_again() -> None:
    answer_all([("early[0-9]+", ["early1", "late"]), ("(", ["unreadable"])])
    asked = pattern("early[0-9]+")
    hits = asked.cache_info().hits  # type: ignore[attr-defined]
    assert asked("early1")
    assert not asked("late")
    assert asked.cache_info().hits == hits + 2  # type: ignore[attr-defined]
