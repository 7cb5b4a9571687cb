"""What is said of affinity, spread and conflicts that make no sense, and what the short ways of writing mean."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.requests.asks import AffinityRule, Match, Relation, Selector, SpreadRule
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.selection import Operator
from dovetail.model.workloads.workload import Workload


def said(**fields: Any) -> list[str]:
    with pytest.raises(ValidationError) as raised:
        Workload.model_validate({"name": "w", **fields})
    return [str(complaint) for complaint in complaints_of(raised.value, Workload)]


def shape(**fields: Any) -> Shape:
    return shape_of(Workload.model_validate({"name": "w", **fields}), "default", "balanced")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            {},
            "affinity[0]: needs exactly one of near, apart, in_same_region, in_different_regions",
        ),
        ({"near": "a", "apart": "b"}, "got near and apart"),
        ({"near": "a", "within": "zone", "distance": 5}, "affinity[0].distance: cannot be combined with within"),
        ({"in_same_region": "a", "distance": 5}, "affinity[0].distance: does not go with in_same_region"),
        ({"in_n_regions": "a"}, "affinity[0].n: requires in_n_regions: the number of regions"),
        ({"near": "a", "within": "zone", "n": 2}, "affinity[0].n: requires in_n_regions"),
        (
            {"near": {"labels": {"a": "b"}}},
            "affinity[0].near: by labels or service, or in other namespaces",
        ),
        (
            {"near": "a", "weight": 1},
            "affinity[0].weight: needs within or distance: near alone is weighed",
        ),
        ({"near": {}, "within": "zone"}, "affinity[0].near: selects no tasks; give workload, service, labels or match"),
        ({"near": {"namespaces": ["x"]}, "within": "zone"}, "selects no tasks"),
        (
            {"near": "a", "within": "two words"},
            "'two words' is not a level; give a node label such as zone",
        ),
        ({"near": "a", "distance": 101}, "affinity[0].distance"),
        ({"near": "a", "within": "zone", "weight": 1.5}, "affinity[0].weight"),
        ({"in_n_regions": "a", "n": 0}, "affinity[0].n"),
        ({"in_n_regions": [], "n": 1}, "affinity[0].in_n_regions"),
        ({"neer": "a"}, "Did you mean 'near'?"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_words_that_help(rule: dict[str, Any], words: str) -> None:
    assert any(words in one for one in said(affinity=[rule])), said(affinity=[rule])


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("spread", {"over": "zone", "max_skew": 0}, "spread[0].max_skew"),
        ("spread", {"max_skew": 1}, "spread[0].over: is required"),
        ("spread", {"over": "zone", "min_domains": 0}, "spread[0].min_domains"),
        ("spread", {"over": "", "max_skew": 1}, "is not a level"),
        ("conflicts", {"within": "zone"}, "conflicts[0].set: is required"),
        ("conflicts", {"set": "a", "within": "?"}, "is not a level"),
    ],
)
def test_so_is_a_spread_or_a_conflict(field: str, value: dict[str, Any], words: str) -> None:
    complaints = said(**{field: [value]})
    assert any(words in one for one in complaints), complaints


def test_a_name_alone_stands_for_the_workload_of_the_same_namespace() -> None:
    (rule,) = shape(namespace="x", affinity=[{"near": "db", "within": "zone"}]).workload_affinity
    assert rule == AffinityRule(Relation.NEAR, (Selector(("x",), workload="db"),), "zone")


def test_a_star_stands_for_all_namespaces() -> None:
    (rule,) = shape(affinity=[{"apart": {"labels": {"app": "db"}, "namespaces": ["*"]}}]).workload_affinity
    assert rule.whom == (Selector((), term=(Match("app", Operator.IN, ("db",)),)),)
    assert (rule.level, rule.distance) == ("host", None)


def test_regions_are_the_level_of_rules_that_say_so_unless_another_is_given() -> None:
    rules = shape(
        affinity=[
            {"in_same_region": ["a", "b"]},
            {"in_different_regions": "c", "within": "rack"},
            {"in_n_regions": "d", "n": 2, "weight": 0.5},
        ]
    ).workload_affinity
    assert [(rule.relation, rule.level, len(rule.whom)) for rule in rules] == [
        (Relation.NEAR, "region", 2),
        (Relation.APART, "rack", 1),
        (Relation.DOMAINS, "region", 1),
    ]
    assert (rules[2].domains, rules[2].weight) == (2, 0.5)


def test_near_alone_is_a_wish_for_the_scores_and_no_rule() -> None:
    found = shape(affinity=[{"near": "db"}])
    assert (found.near, found.workload_affinity) == (("db",), ())


def test_who_must_be_near_is_also_as_near_as_can_be() -> None:
    assert shape(affinity=[{"near": "db", "within": "zone"}]).near == ("db",)


def test_a_conflict_is_being_apart_from_other_members_and_the_name_of_the_set_is_enough() -> None:
    assert shape(conflicts=["licence"]) == shape(conflicts=[{"set": "licence", "within": "host"}])
    (rule,) = shape(conflicts=["licence"]).workload_affinity
    assert rule.relation is Relation.APART
    assert rule.but == Selector(("default",), workload="w", conflict="licence")


def test_a_spread_counts_the_workload_itself_unless_others_are_named() -> None:
    own, others = shape(spread=[{"over": "zone"}, {"over": "zone", "of": {"service": "front"}, "max_skew": 3}]).spread
    assert own == SpreadRule("zone", 1, (Selector(("default",), workload="w"),))
    assert others == SpreadRule("zone", 3, (Selector(("default",), service="front"),))


def test_the_same_rule_twice_is_one() -> None:
    rule = {"apart": "db", "within": "zone"}
    assert len(shape(affinity=[rule, rule], spread=[{"over": "zone"}] * 2).workload_affinity) == 1


def test_a_shape_with_affinity_survives_a_restart() -> None:
    found = shape(
        affinity=[
            {"near": {"match": [{"key": "tier", "operator": "Gt", "values": ["1"]}]}, "distance": 12.5, "weight": 0.25},
            {"in_n_regions": ["a", {"service": "s", "namespaces": ["x", "y"]}], "n": 3},
        ],
        conflicts=["licence"],
        spread=[{"over": "rack", "min_domains": 2, "of": "a", "weight": 1}],
    )
    again = Shape.from_json(found.to_json())
    assert again == found
    assert hash(again) == hash(found)
    assert again.to_json() == found.to_json()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"affinity": [{"near": "db", "within": "zone"}]}, "near to workload db within one zone"),
        ({"affinity": [{"apart": {"service": "s"}, "distance": 40}]}, "apart from service s within distance 40"),
        ({"affinity": [{"in_n_regions": ["a", "b"], "n": 2}]}, "in 2 domains of region with workload a or workload b"),
        ({"conflicts": ["c"]}, "apart from conflict set c within one host"),
    ],
)
def test_a_rule_reads_as_a_sentence(fields: dict[str, Any], words: str) -> None:
    assert str(shape(**fields).workload_affinity[0]) == words
