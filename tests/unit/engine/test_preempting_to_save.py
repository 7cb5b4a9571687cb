"""With `preempt: savings`, work that could still go elsewhere gives its own node to work that would cost more there."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

MARKET = {"preempt": "savings"}
CLOUD = {"price_per_hour": 0.2, "running": False, "start_up": "2m", "place": "aws/us-east-1"}
HOUR, MINUTE = 3600.0, 60.0
CHEAP: dict[str, Any] = {"deadline": {"run_for": "3h", "finish_within": "24h"}}
DEAR: dict[str, Any] = {"deadline": {"run_for": "6h", "finish_within": "8h"}}
#: When the dear one has to go elsewhere: what is left after its run, the start-up and the margin; and one more margin.
TAKES_AT = 2 * HOUR - 2 * MINUTE - 2 * MINUTE


def scene(**market: Any) -> Scene:
    """An own node of eight cores, and three in a cloud."""
    found = Scene(market=MARKET | {"prefer": "cheapest"} | market)
    found.join("own", 8)
    for number in range(3):
        found.join(f"cloud-{number}", 8, offer=CLOUD)
    return found


def stopped_for(found: Scene) -> list[str]:
    return [stop.reason for stop in found.stops]


def test_work_that_would_cost_more_elsewhere_takes_the_node_when_it_can_wait_no_longer() -> None:
    one = scene()
    one.run("cheap", 8, **CHEAP)
    one.submit("dear", 8, **DEAR)
    one.tick(1.0)
    one.tick(TAKES_AT - 3.0)
    assert one.stops == []
    assert TAKES_AT in [round(at) for at in one.wakes]
    one.tick(3.0)
    words = "preempted to save 0.60 USD: dear would cost 1.21 elsewhere, and what it preempts 0.61"
    assert stopped_for(one) == [words]
    assert one.work("dear").message == "frees capacity for 1 task, which saves 0.60 USD: waits for 1 task: cheap.0"
    one.stopped("cheap")
    assert one.attempts[-1].reason == "preempted"
    assert one.attempts[-1].message == words
    assert one.tick(1.0) == ["dear.0"]
    assert one.work("dear").task(0).node == "own"
    assert one.work("cheap").reason == "waits_for_cheaper"


def test_nothing_is_stopped_to_save_money_unless_the_settings_say_so() -> None:
    one = scene(preempt="never")
    one.run("cheap", 8, **CHEAP)
    one.submit("dear", 8, **DEAR)
    one.tick(TAKES_AT)
    assert one.stops == []


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        ({"deadline": None}, {}),
        ({"deadline": {"run_for": "3h", "finish_within": "4h"}}, {}),  # too late to start again
        ({"deadline": {"run_for": "350m", "finish_within": "24h"}}, {}),  # saves too little
        ({"disruption": {"allowed": False}}, {}),
        ({"disruption": {"min_run_time": "3h"}}, {}),
        ({"prefer": "fastest"}, {}),
        ({"priority": "high"}, {}),
        ({"gang": {"min": 1}}, {}),
        ({}, {"gang": {"min": 1}}),
        ({}, {"node_selector": {"os": "plan9"}}),
    ],
    ids=[
        "no deadline",
        "late",
        "saves little",
        "protected",
        "too young",
        "hurry",
        "urgent",
        "gang",
        "a gang",
        "elsewhere",
    ],
)
def test_tasks_that_may_not_or_need_not_leave_stay(cheap: dict[str, Any], dear: dict[str, Any]) -> None:
    one = scene()
    one.run("cheap", 8, **{key: value for key, value in (CHEAP | cheap).items() if value is not None})
    one.submit("dear", 8, **(DEAR | dear))
    one.tick(1.0)
    one.tick(TAKES_AT - 1.0)
    assert one.stops == []


def test_only_tasks_that_are_needed_are_stopped_and_the_cheapest_of_them() -> None:
    one = scene()
    for number in range(8):
        one.run(f"cheap-{number}", 1, deadline={"run_for": f"{150 + number}m", "finish_within": "24h"})
    one.submit("dear", 2, **DEAR)
    one.tick(TAKES_AT)
    assert {stop.task.workload for stop in one.stops} == {one.ids["cheap-0"], one.ids["cheap-1"]}


def test_nobody_is_stopped_who_would_find_no_node_elsewhere_now() -> None:
    one = scene()
    one.run("cheap", 8, **CHEAP)
    one.submit("dear", 8, **DEAR)
    one.tick(1.0)
    for number in range(3):
        one.submit(f"hurry-{number}", 8, prefer="fastest")
    assert len(one.tick()) == 3
    one.tick(TAKES_AT - 1.0)
    assert one.stops == []


def test_a_task_makes_way_at_its_last_chance_for_work_that_could_not_start_in_time() -> None:
    one = scene()
    one.run("long", 8, deadline={"run_for": "4h", "finish_within": "5h"})
    one.tick(30 * MINUTE)
    one.submit("dear", 8, deadline={"run_for": "20h", "finish_within": "21h"})
    one.tick()
    one.tick(25 * MINUTE)
    assert one.stops == []
    one.tick(1 * MINUTE)  # an hour less start-up and twice the margin
    words = "preempted to save 3.20 USD: dear, which would cost 4.01 elsewhere, could not start in time"
    assert stopped_for(one) == [f"{words}; this task costs 0.81 there"]
    one.stopped("long")
    assert sorted(one.tick(1.0)) == ["dear.0", "long.0"]
    assert (one.work("dear").task(0).node, one.work("long").task(0).node) == ("own", "cloud-0")


def test_a_task_stays_if_the_other_can_start_when_it_has_ended() -> None:
    one = scene()
    one.run("long", 8, deadline={"run_for": "4h", "finish_within": "5h"})
    one.tick(30 * MINUTE)
    one.submit("dear", 8, deadline={"run_for": "20h", "finish_within": "24h"})
    one.tick()
    one.tick(25 * MINUTE)
    one.tick(1 * MINUTE)
    assert one.stops == []


def test_after_a_restart_the_same_is_preempted() -> None:
    one = scene()
    one.run("cheap", 8, **CHEAP)
    one.submit("dear", 8, **DEAR)
    one.tick(1.0)
    one.restart()
    one.tick()
    one.tick(TAKES_AT - 1.0)
    assert [stop.task.workload for stop in one.stops] == [one.ids["cheap"]]


def test_a_node_that_is_promised_to_work_which_would_cost_more_is_not_taken() -> None:
    one = Scene(market=MARKET | {"prefer": "cheapest"}, schedulers={"default": {"order": "savings"}})
    one.join("own", 8)
    for number in range(6):
        one.join(f"cloud-{number}", 8, offer=CLOUD)
        one.join(f"small-{number}", 4, offer=CLOUD | {"price_per_hour": 0.05})
    one.run("cheap", 4, deadline={"run_for": "1h", "finish_within": "24h"})
    one.run("middling", 4, deadline={"run_for": "90m", "finish_within": "24h"})
    one.submit("whole", 8, deadline={"run_for": "20h", "finish_within": "30h"})
    one.tick(1.0)
    assert "whole" in {promise.owner_name for promise in one.engine._state.promises.of_work.values()}
    one.submit("dear", 4, deadline={"run_for": "6h", "finish_within": "6h 10m"})
    one.tick(1.0)
    one.tick(6 * MINUTE)
    assert one.stops == []
