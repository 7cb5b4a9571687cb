"""Work with a deadline waits for cheap nodes, and goes to dearer ones when it would be late."""

from typing import Any

import pytest

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Wake
from dovetail.model.event import NodeJoined, Submitted, TaskFinished, Tick
from dovetail.model.node import Node
from dovetail.model.record import Decision
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

HOUR = 3600.0
CLOUD = {"price_per_hour": 0.19, "running": False, "start_up": "2m", "place": "aws/us-east-1"}
SPOT = {**CLOUD, "price_per_hour": 0.07, "spot": True, "interruption": 0.05}
BURSTS: dict[str, Any] = {"prefer": "cheapest", "deadline": {"run_for": "1h", "finish_within": "6h"}}


class Scene:
    def __init__(self, settings: dict[str, Any] | None = None, **offers: dict[str, Any] | None) -> None:
        """A node of eight cores for each offer."""
        self.engine = Engine(EngineSettings.model_validate(settings or {}))
        self.now = 0.0
        self.next = 1
        self.wakes: list[float] = []
        for name, offer in offers.items():
            self.join(name, offer)

    def join(self, name: str, offer: dict[str, Any] | None) -> None:
        node = {"name": name.replace("_", "-"), "capacity": {"cpu": 8, "memory": "32GiB"}, "offer": offer}
        self.engine.handle(NodeJoined(Node.model_validate(node)), self.now)

    def submit(self, cpu: int = 8, **fields: Any) -> int:
        spec = {"name": f"w{self.next}", "resources": {"cpu": cpu}, **fields}
        self.engine.handle(Submitted(self.next, Workload.model_validate(spec)), self.now)
        self.next += 1
        return self.next - 1

    def tick(self, now: float | None = None) -> dict[int, str]:
        """Where workloads went."""
        self.now = self.now if now is None else now
        found: dict[int, str] = {}
        commands = self.engine.handle(Tick(100), self.now)
        while self.engine.busy:
            commands += self.engine.handle(Tick(100), self.now)
        for command in commands:
            if isinstance(command, Bind):
                found[command.task.workload] = command.node
            elif isinstance(command, Wake):
                self.wakes.append(command.at)
        return found

    def end(self, workload: int) -> None:
        self.engine.handle(TaskFinished(TaskId(workload, 0), f"{workload}.0.1", 0, ""), self.now)

    def why(self) -> Decision:
        return self.engine.take_decisions()[-1]


def test_work_waits_for_its_own_nodes_until_it_would_be_late_and_then_goes_to_the_cloud() -> None:
    scene = Scene(own=None, m5_xlarge=CLOUD)
    first, second = scene.submit(**BURSTS), scene.submit(**BURSTS)
    assert scene.tick() == {first: "own"}
    decision = scene.why()
    assert decision.node is None
    assert decision.explanation.outcome == "waits_for_cheaper"
    words = "waits for cheaper nodes until 1970-01-01T04:57:00Z; then m5-xlarge at 0.19 USD/h"
    assert decision.explanation.message == words
    at = 6 * HOUR - HOUR - 120 - 60  # the run, the start-up, the margin
    assert scene.wakes[-1] == at
    assert scene.tick(at - 1) == {}
    assert scene.tick(at) == {second: "m5-xlarge"}


def test_work_takes_a_cheap_node_that_comes_free_in_time() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    first, second = scene.submit(**BURSTS), scene.submit(**BURSTS)
    scene.tick()
    scene.now = HOUR
    scene.end(first)
    assert scene.tick() == {second: "own"}


def test_without_a_deadline_nothing_waits() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    first, second = scene.submit(prefer="cheapest"), scene.submit(prefer="cheapest")
    assert scene.tick() == {first: "own", second: "cloud"}


@pytest.mark.parametrize("prefer", ["fastest", "greenest", {"price": 1, "start": 2}])
def test_work_that_minds_something_else_more_does_not_wait_for_low_prices(prefer: Any) -> None:
    scene = Scene(own=None, cloud=CLOUD)
    fields: dict[str, Any] = {**BURSTS, "prefer": prefer}
    scene.submit(**fields)
    second = scene.submit(**fields)
    assert second in scene.tick()


def test_spot_machines_are_for_work_that_could_be_repeated_in_time() -> None:
    scene = Scene(on_demand=CLOUD, spot=SPOT)
    relaxed = scene.submit(**BURSTS)
    tight = scene.submit(prefer="cheapest", deadline={"run_for": "1h", "finish_within": "90m"})
    assert scene.tick() == {relaxed: "spot", tight: "on-demand"}


def test_work_that_saves_its_state_may_use_spot_machines_for_longer() -> None:
    scene = Scene(on_demand=CLOUD, spot=SPOT)
    deadline = {"run_for": "1h", "finish_within": "90m"}
    saving = scene.submit(prefer="cheapest", deadline=deadline, disruption={"checkpoint_every": "5m"})
    assert scene.tick() == {saving: "spot"}


def test_work_that_is_late_everywhere_does_not_wait_any_longer() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    hopeless: dict[str, Any] = {"prefer": "cheapest", "deadline": {"run_for": "2h", "finish_within": "1h"}}
    first, second = scene.submit(**hopeless), scene.submit(**hopeless)
    assert scene.tick() == {first: "own", second: "cloud"}


def test_work_that_its_own_nodes_can_never_hold_goes_at_once() -> None:
    scene = Scene(own=None)
    large = {"name": "large", "capacity": {"cpu": 64, "memory": "32GiB"}, "offer": CLOUD}
    scene.engine.handle(NodeJoined(Node.model_validate(large)), 0.0)
    assert scene.tick() == {}
    wide = scene.submit(cpu=32, **BURSTS)
    assert scene.tick() == {wide: "large"}


def test_a_node_that_others_could_take_is_not_given_up_for_a_small_saving() -> None:
    """Waiting for the cheapest would save 0.02, and may cost the whole price of the cloud."""
    scene = Scene(
        cheapest={"price_per_hour": 0.01}, cheap={"price_per_hour": 0.03}, cloud={**CLOUD, "price_per_hour": 2.0}
    )
    first, second = scene.submit(**BURSTS), scene.submit(**BURSTS)
    assert scene.tick() == {first: "cheapest", second: "cheap"}


def test_a_cheaper_kind_of_offer_is_noticed_at_once() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    scene.submit(**BURSTS)
    second = scene.submit(**BURSTS)
    scene.tick()
    scene.join("free", {**CLOUD, "price_per_hour": 0.0})
    assert scene.tick(10.0) == {second: "free"}


def test_a_restart_does_not_forget_when_it_has_to_go() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    scene.submit(**BURSTS)
    second = scene.submit(**BURSTS)
    scene.tick()
    terms = scene.engine.terms_json(second)
    assert '"finish_within_s":21600.0' in terms
    assert '"market":[' in terms


def test_the_order_by_savings_gives_own_nodes_to_the_work_that_costs_most_elsewhere() -> None:
    settings = {"schedulers": {"default": {"order": "savings"}}}
    scene = Scene(settings, own=None, small=CLOUD)
    large = {"name": "large", "capacity": {"cpu": 64, "memory": "512GiB"}, "offer": {**CLOUD, "price_per_hour": 3.0}}
    scene.engine.handle(NodeJoined(Node.model_validate(large)), 0.0)
    scene.submit(cpu=8, **BURSTS)
    roomy = {"resources": {"cpu": 8, "memory": "31GiB"}, **BURSTS}
    scene.submit(**BURSTS)
    saved = scene.submit(**{**roomy, "node_selector": {}, "deadline": {"run_for": "2m", "finish_within": "6h"}})
    assert saved in scene.tick(), "a short run pays for the start-up of a machine as much as for itself"


def test_a_plan_compares_the_places_and_says_why_others_are_not_chosen() -> None:
    scene = Scene(own=None, on_demand=CLOUD, spot=SPOT)
    scene.submit(**BURSTS)
    scene.tick()
    plans = Questions(scene.engine).plans
    spec = Workload.model_validate({"name": "x", "resources": {"cpu": 8}, **BURSTS})
    tasks = _whole(plans.plan(spec, 1, scene.now))
    table = _whole(plans.market(spec, tasks, scene.now))
    assert [(one.node, one.chosen) for one in table] == [("own", True), ("spot", False), ("on-demand", False)]
    own, spot, dear = table
    assert tasks[0].explanation.outcome == "waits_for_cheaper"
    assert own.start == HOUR
    until = "1970-01-01T03:55:00Z"
    assert spot.why_not == f"from {until}, if nothing cheaper comes free before"
    assert dear.cost == pytest.approx(0.19 * 3720 / 3600, rel=1e-5)
    assert dear.why_not == "costs 0.20 USD more"


def test_work_that_compares_no_places_has_no_such_table() -> None:
    scene = Scene(own=None, cloud=CLOUD)
    plans = Questions(scene.engine).plans
    spec = Workload.model_validate({"name": "x", "resources": {"cpu": 8}})
    tasks = _whole(plans.plan(spec, 1, 0.0))
    assert _whole(plans.market(spec, tasks, 0.0)) == []


def _whole(pieces: Any) -> Any:
    while True:
        try:
            next(pieces)
        except StopIteration as done:
            return done.value
