"""Adjustments of policies: when they begin and end, what they make of a constraint, and that they are remembered."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.policies.policy_changes import EVALUATE_EVERY_S
from dovetail.engine.state.policies import RuleKey
from dovetail.model.event import PolicySet
from dovetail.model.policy import Policy

EAST = 'node.labels.zone == "east"'
FULL = 'domain("zone", "east").utilisation.cpu > 0.85'
CALM = 'domain("zone", "east").utilisation.cpu < 0.5'


class Town(Scene):
    """Two zones of ten cores each."""

    def __init__(self) -> None:
        super().__init__()
        self.join("e1", 10, labels={"zone": "east"})
        self.join("w1", 10, labels={"zone": "west"})

    def put(self, name: str = "rule", **fields: Any) -> None:
        policy = Policy.model_validate({"name": name, "applies_to": {"namespaces": ["*"]}, **fields})
        self.hear(PolicySet(policy, self.engine._state.policies.next_version(name)))

    def load(self, name: str, cores: float) -> None:
        """So much of the east is in use."""
        self.run(name, cores, node_selector={"zone": "east"})

    def demand(self, index: int = 0) -> str:
        want = self.engine._state.policies.by_name["rule"].want(index)
        return "off" if want is None else f"{want.demand} {want.weight:g}"


def rule(**then: Any) -> dict[str, Any]:
    return {"prefer": EAST, "weight": 0.8, "adjust": [{"when": FULL, **then}]}


@pytest.mark.parametrize(
    ("then", "demand"),
    [
        ({"off": True}, "off"),
        ({"weight": 0.1}, "prefer 0.1"),
        ({"become": "avoid"}, "avoid 0.8"),
        ({"become": "avoid", "weight": 0.3}, "avoid 0.3"),
        ({"become": "require"}, "require 1"),
    ],
)
def test_a_rule_makes_of_a_constraint_what_it_says_while_its_condition_holds(then: dict[str, Any], demand: str) -> None:
    town = Town()
    town.put(**rule(**then))
    assert town.demand() == "prefer 0.8"
    town.load("hog", 9)
    town.tick(2)
    assert town.demand() == demand
    town.end("hog")
    town.tick(20)
    assert town.demand() == "prefer 0.8"


def test_a_requirement_may_be_relaxed() -> None:
    town = Town()
    town.put(require=EAST, adjust=[{"when": FULL, "become": "prefer", "weight": 0.2}])
    town.load("hog", 10)
    town.submit("w")
    assert town.tick() == []
    assert town.tick(1.5) == ["w.0"]
    assert town.on("w") == ["w1"]


def test_with_until_it_goes_on_between_the_two() -> None:
    town = Town()
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "off": True}])
    town.load("a", 3)
    town.load("b", 3)
    town.load("c", 3)
    town.tick(2)
    assert town.demand() == "off"
    town.end("c")
    town.tick(20)
    assert town.demand() == "off"  # 60 %: neither full nor calm
    town.end("b")
    town.tick(20)
    assert town.demand() == "prefer 1"
    town.load("d", 3)
    town.tick(20)
    assert town.demand() == "prefer 1"  # 60 % again, from the other side


def test_where_both_conditions_hold_it_does_not_begin() -> None:
    town = Town()
    town.put(prefer=EAST, adjust=[{"when": "cluster.nodes > 0", "until": "cluster.nodes > 1", "off": True}])
    for _ in range(3):
        town.tick(5)
        assert town.demand() == "prefer 1"


def test_of_several_that_are_on_the_first_counts() -> None:
    town = Town()
    more = [{"when": FULL, "weight": 0.1}, {"when": "cluster.nodes > 1", "weight": 0.5}]
    town.put(prefer=EAST, adjust=more)
    assert town.demand() == "prefer 0.5"
    town.load("hog", 9)
    town.tick(2)
    assert town.demand() == "prefer 0.1"


def test_a_policy_that_comes_while_its_condition_holds_is_adjusted_at_once() -> None:
    town = Town()
    town.load("hog", 9)
    town.put(**rule(off=True))
    assert town.demand() == "off"


def test_rules_are_judged_at_most_once_a_second_and_not_forgotten() -> None:
    town = Town()
    town.put(**rule(off=True))
    town.load("hog", 9)
    town.tick(0.1)
    assert town.demand() == "prefer 0.8"
    town.tick(0.9)
    assert town.demand() == "off"


def test_after_a_change_a_tick_is_asked_for_although_nothing_waits() -> None:
    town = Town()
    town.load("hog", 9)
    town.tick(5)
    town.put(**rule(off=True))
    assert town.wakes == []
    town.end("hog")
    assert town.wakes == [town.now + EVALUATE_EVERY_S]
    town.tick(EVALUATE_EVERY_S)
    assert town.demand() == "prefer 0.8"


def test_while_nothing_changes_nobody_asks_to_be_woken() -> None:
    town = Town()
    town.put(**rule(off=True))
    for _ in range(5):
        town.tick(60)
    assert town.wakes == []


def test_without_rules_nobody_asks_to_be_woken() -> None:
    town = Town()
    town.put(prefer=EAST)
    town.tick(5)
    assert town.wakes == []


def test_how_many_wait_may_be_a_condition() -> None:
    town = Town()
    town.put(require=EAST, adjust=[{"when": "cluster.waiting >= 2", "off": True}])
    town.load("hog", 10)
    town.submit("w1")
    town.tick(2)
    assert town.demand() == "require 1"
    town.submit("w2")
    town.tick(2)
    assert town.on("w1") == town.on("w2") == ["w1"]


def test_a_switch_is_told_with_the_rule_and_the_values_that_led_to_it() -> None:
    town = Town()
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "off": True}])
    town.load("hog", 9)
    town.tick(2)
    town.end("hog")
    town.tick(2)
    began, ended = town.notebook.switches
    assert (began.policy, began.on, ended.on) == ("rule", True, False)
    for words in ("policy rule", f"prefer {EAST}", "off, since", FULL, "0.9"):
        assert words in began.message
    assert f"restored, since {CALM}" in ended.message


def test_what_is_on_survives_a_restart_in_the_middle_of_the_two_conditions() -> None:
    town = Town()
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "off": True}])
    town.load("a", 6)
    town.load("b", 3)
    town.tick(2)
    town.end("b")
    town.tick(2)
    since = town.engine._state.policies.by_name["rule"].active[RuleKey(0, 0)].since
    town.restart()
    town.submit("w")
    town.tick(20)
    assert town.demand() == "off"
    assert town.engine._state.policies.by_name["rule"].active[RuleKey(0, 0)].since == since
    assert town.work("w").shape.wants == ()
    town.end("a")
    town.tick(20)
    assert town.demand() == "prefer 1"


def test_a_new_version_keeps_what_is_on_of_rules_that_stayed_the_same() -> None:
    town = Town()
    same: dict[str, Any] = {"prefer": EAST, "adjust": [{"when": FULL, "until": CALM, "off": True}]}
    town.put(**same)
    town.load("a", 6)
    town.load("b", 3)
    town.tick(2)
    town.end("b")
    town.tick(2)
    town.put(**same, description="another version")
    assert town.demand() == "off"
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "weight": 0.5}])
    assert town.demand() == "prefer 1"  # another rule, whose condition does not hold


def test_a_rule_that_was_replaced_does_not_come_back_on_after_a_restart() -> None:
    town = Town()
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "off": True}])
    town.load("a", 6)
    town.load("b", 3)
    town.tick(2)
    town.end("b")
    town.tick(2)
    assert town.demand() == "off"
    town.put(prefer=EAST, adjust=[{"when": FULL, "until": CALM, "weight": 0.5}])
    town.restart()
    town.tick(20)
    assert town.demand() == "prefer 1"


def test_what_waits_is_looked_at_again_when_a_rule_begins() -> None:
    town = Town()
    town.put(require=EAST, adjust=[{"when": FULL, "off": True}])
    town.load("hog", 8)
    town.submit("big", 4)
    assert town.tick() == []
    town.load("more", 1)
    town.tick(2)
    assert town.on("big") == ["w1"]
    assert town.work("big").shape.wants == ()
