"""Changes of a definition: patches that make them, and amounts as people write them."""

import pytest
from tests.reference_merge_patch import merge_patch

from dovetail.engine.suggestions.changes import (
    definition,
    drop_item,
    fewer_at_once,
    patch_between,
    redefined,
    tolerate,
)
from dovetail.engine.suggestions.smaller_amounts import round_below
from dovetail.engine.suggestions.wider_terms import widen
from dovetail.model.workloads.selection import Effect, Taint
from dovetail.model.workloads.workload import Workload

GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"a": 1}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}),
        ({"a": {"b": 1}}, {}),
        ({"a": [1, 2]}, {"a": [2]}),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {}, "d": 5}}),
        ({"a": 1}, {"a": {"b": 1}}),
    ],
)
def test_the_patch_between_two_definitions_makes_one_of_the_other(before: dict, after: dict) -> None:  # type: ignore[type-arg]
    assert merge_patch(before, patch_between(before, after)) == after


def test_a_change_gives_a_definition_that_is_checked_and_the_patch_for_it() -> None:
    spec = Workload.model_validate({"name": "a", "tolerations": [{"key": "spot", "operator": "exists"}]})
    taint = Taint(key="dedicated", value="gpu", effect=Effect.NO_SCHEDULE)
    changed, patch = redefined(spec, [tolerate([taint])])
    assert [toleration.key for toleration in changed.tolerations] == ["spot", "dedicated"]
    assert Workload.model_validate(merge_patch(definition(spec), patch)) == changed


def test_rules_that_are_dropped_together_keep_their_places_until_the_end() -> None:
    rules = [{"apart": name, "within": "host"} for name in ("x", "y", "z")]
    spec = Workload.model_validate({"name": "a", "affinity": rules})
    changed, _ = redefined(spec, [drop_item("affinity", 0, ""), drop_item("affinity", 2, "")])
    assert [rule.apart.workload for rule in changed.affinity if rule.apart] == ["y"]
    changed, patch = redefined(spec, [drop_item("affinity", i, "") for i in range(3)])
    assert (changed.affinity, patch) == ([], {"affinity": None})


def test_a_gang_that_is_made_smaller_runs_no_more_at_once() -> None:
    spec = Workload.model_validate({"name": "a", "replicas": 8, "gang": {"min": 8}})
    changed, patch = redefined(spec, [fewer_at_once(spec, 6)])
    assert patch == {"gang": {"min": 6}, "concurrency": 6}
    assert changed.gang is not None
    assert fewer_at_once(spec.model_copy(update={"gang": None}), 6).words == "run 6 at a time instead of 8"


@pytest.mark.parametrize(
    ("resource", "most", "asked", "found"),
    [
        ("memory", 48.7 * GIB, 64 * GIB, 48 * GIB),
        ("memory", 3.9 * GIB, 64 * GIB, 3.75 * GIB),
        ("memory", 100 * MIB, GIB, 96 * MIB),
        ("disk", 48.7e9, 64 * 10**9, 48 * 10**9),
        ("cpu", 9700, 16_000, 9000),
        ("cpu", 3700, 16_000, 3500),
        ("cpu", 170, 1000, 150),
        ("gpu", 2999, 8000, 2000),
        ("gpu", 999, 8000, 0),
        ("example.com/fpga", 2.5, 4, 2),
    ],
)
def test_amounts_are_rounded_down_to_what_people_write(resource: str, most: float, asked: int, found: float) -> None:
    assert round_below(resource, most, asked) == found


def _terms(*matches: dict) -> list:  # type: ignore[type-arg]
    return [{"match": list(matches)}]


@pytest.mark.parametrize(
    ("match", "labels", "words", "after"),
    [
        (
            {"key": "zone", "operator": "In", "values": ["a"]},
            {"zone": "b"},
            "allow zone b",
            {"key": "zone", "operator": "In", "values": ["a", "b"]},
        ),
        (
            {"key": "zone", "operator": "NotIn", "values": ["b", "c"]},
            {"zone": "b"},
            "allow zone b",
            {"key": "zone", "operator": "NotIn", "values": ["c"]},
        ),
        (
            {"key": "size", "operator": "Gt", "values": ["7"]},
            {"size": "4"},
            "lower the bound of size to 3",
            {"key": "size", "operator": "Gt", "values": ["3"]},
        ),
        (
            {"key": "size", "operator": "Lt", "values": ["2"]},
            {"size": "4"},
            "raise the bound of size to 5",
            {"key": "size", "operator": "Lt", "values": ["5"]},
        ),
        ({"key": "zone", "operator": "In", "values": ["a"]}, {}, "drop zone In a", None),
        ({"key": "spot", "operator": "DoesNotExist"}, {"spot": "yes"}, "drop spot DoesNotExist", None),
    ],
)
def test_a_required_term_is_widened_no_more_than_it_must(match: dict, labels: dict, words: str, after: dict) -> None:  # type: ignore[type-arg]
    other = {"key": "disk", "operator": "Exists"}
    change = widen(_terms(match, other), [{**labels, "disk": "nvme"}])
    assert change is not None
    assert change.words == words
    draft = {"node_affinity": {"required": _terms(match, other)}}
    change.edit(draft)
    assert draft["node_affinity"]["required"] == _terms(*([after] if after else []), other)
