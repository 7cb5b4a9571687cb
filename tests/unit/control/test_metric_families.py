"""Every family says what it is, promtool has nothing to say against it, and no user can make series without end."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.servers.prometheus import promtool
from tools.metric_families import SEEDS, families

from dovetail.control.telemetry import metrics
from dovetail.control.telemetry.http_metrics import HttpMetrics
from dovetail.control.telemetry.metrics import Metrics
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.model.batch import Batch, Changes, PolicySwitch
from dovetail.model.event import NodeJoined, Submitted, TaskFinished, TaskStarted, Tick
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

MOST_SERIES = 2000  # of the scene below, which has ten nodes
HOSTILE = '\\"} 1 # HELP stolen <script>\u2603'


class Scene:
    def __init__(self) -> None:
        self.engine = Engine()
        self.metrics = Metrics(Questions(self.engine))

    def node(self, name: str, **fields: Any) -> None:
        given = {"name": name, "capacity": {"cpu": 1000, "memory": "4TB"}, **fields}
        self.engine.handle(NodeJoined(Node.model_validate(given)), 0.0)

    def submit(self, id_: int, **fields: Any) -> None:
        self.engine.handle(Submitted(id_, Workload.model_validate({"name": f"w{id_}", **fields})), 0.0)

    def step(self, now: float = 0.0) -> None:
        self.engine.handle(Tick(100_000), now)
        self.metrics.count(Batch(changes=self.engine.take_changes(now)), now)

    def text(self) -> str:
        self.metrics.look()
        return self.metrics.text().decode()


def series_in(text: str) -> int:
    return sum(len(family.samples) for family in text_string_to_metric_families(text))


def test_every_family_says_what_it_is_in_words() -> None:
    for one in families():
        assert len(one.words.split()) >= 2, f"{one.name} has no help text"
        assert one.name.startswith(("dovetail_", "topology_")), one.name
        assert not set(one.labels) & {"workload", "task", "name", "id", "user"}, f"{one.name} has a series a workload"


def test_every_metric_that_the_seeds_name_is_there() -> None:
    there = {one.name: set(one.labels) for one in families()}
    for known, here in SEEDS:
        name, _, labels = (known if here == "the same" else here.strip("`")).partition("{")
        assert name in there, f"{known}: {name}"
        assert set(filter(None, labels.rstrip("}").split(","))) <= there[name], known


def test_promtool_has_nothing_to_say_against_names_and_types() -> None:
    scene = Scene()
    scene.node("n0", labels={"zone": HOSTILE})
    scene.submit(1)
    scene.step()
    assert promtool("check", "metrics", given=scene.text()) == ""


def test_five_thousand_workloads_in_as_many_namespaces_make_no_series() -> None:
    scene = Scene()
    for number in range(10):
        label = {"zone": f"{HOSTILE}-{number}"}
        strange = {f"example.com/kind-{number}-{kind}": 4 for kind in range(40)}
        scene.node(f"n{number}", labels=label, capacity={"cpu": 1000, "memory": "4TB", **strange})
    scene.submit(1, name="first")
    scene.step()
    before = series_in(scene.text())
    for number in range(2, 5002):
        scene.submit(number, name=f"hostile-{number}", namespace=f"team-{number}", user=f"user{number}")
    scene.step()
    switches = [PolicySwitch(f"policy-{number}", number % 2 == 0, "") for number in range(1000)]
    scene.metrics.count(Batch(changes=Changes(switches=switches)), 0.0)
    text = scene.text()
    after = series_in(text)
    assert "hostile-" not in text
    assert "user4" not in text
    assert text.count('dovetail_fair_share_deviation{tenant="') == metrics.MOST_TENANTS
    assert 'policy="(others)"' in text
    assert len({line for line in text.splitlines() if "kind-" in line and line.startswith("dovetail_allocated")}) == 16
    assert after < before + 1000
    assert after < MOST_SERIES


def test_a_hostile_label_stays_inside_its_quotes() -> None:
    scene = Scene()
    scene.node("n0", labels={"zone": HOSTILE})
    zones = {
        sample.labels["zone"]
        for family in text_string_to_metric_families(scene.text())
        for sample in family.samples
        if "zone" in sample.labels
    }
    assert zones == {HOSTILE}


def test_a_start_lasts_from_the_placement_to_the_report_of_the_backend() -> None:
    scene = Scene()
    scene.node("n0")
    scene.submit(1)
    scene.step(1.0)
    scene.engine.handle(TaskStarted(TaskId(1, 0), "1.0.1"), 4.0)
    scene.step(4.0)
    scene.step(5.0)
    value = scene.metrics.registry.get_sample_value
    assert value("dovetail_task_start_seconds_sum", {"backend": "registered"}) == 3.0
    assert value("dovetail_task_start_seconds_count", {"backend": "registered"}) == 1.0


@pytest.mark.parametrize("method", ["BREW", 'GET"} 1', "get"])
def test_a_method_that_no_route_knows_makes_no_series_of_its_own(method: str) -> None:
    scene = Scene()
    http = HttpMetrics(scene.metrics.registry)
    for _ in range(3):
        http.observe(method, "", 405, 0.1)
    assert (
        scene.metrics.registry.get_sample_value(
            "dovetail_http_requests_total", {"method": "other", "route": "", "status": "405"}
        )
        == 3.0
    )


def test_the_longest_wait_is_that_of_work_that_never_ran() -> None:
    scene = Scene()
    oldest = Questions(scene.engine).queues.oldest_submission
    scene.node("n0", capacity={"cpu": 4})
    assert oldest() is None
    scene.submit(1, resources={"cpu": 1}, retries=5)
    scene.step(0.0)
    scene.engine.handle(TaskStarted(TaskId(1, 0), "1.0.1"), 1.0)
    scene.engine.handle(TaskFinished(TaskId(1, 0), "1.0.1", 1, "exit status 1"), 500.0)
    spec = Workload.model_validate({"name": "w2", "resources": {"cpu": 8}})
    scene.engine.handle(Submitted(2, spec), 400.0)
    scene.step(500.0)
    assert oldest() == 400.0, "the first has run, and only waits for its retry"
