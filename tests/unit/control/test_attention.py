"""What needs attention, in sentences, and on a live server."""

from dataclasses import replace
from pathlib import Path

from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.accounting.days import month_of
from dovetail.client import Client
from dovetail.control.attention import wording
from dovetail.control.attention.service import KEPT_S, MOST_ITEMS
from dovetail.control.cost.budgets import Spending, status_of
from dovetail.control.cost.settings import Budget, OnLimit
from dovetail.control.service_controller.desk import ServiceStatus
from dovetail.engine.questions.attention_questions import NodeFinding, SplitGang, WorkExample
from dovetail.model.cost_facts import NANO
from dovetail.model.services.service import Service
from dovetail.responses.attention import AttentionItem
from dovetail.services.records import Revision, RolloutState, ServiceRecord

NOW = 1_800_000_000.0
EXAMPLE = WorkExample(7, "team", "train")


def gang(count: int, needed: int = 64) -> SplitGang:
    return SplitGang(count, EXAMPLE, "leaf", needed, 178, "leaf-03", 40, 64)


def test_alike_gangs_are_one_item_that_names_the_largest_domain() -> None:
    (item,) = wording.split_gangs([gang(2), gang(1, 48)])
    assert item["what"] == "3 gangs wait for a whole leaf: largest free leaf leaf-03 has 40 of 64 GPUs"
    assert "178 GPUs are free in all, and team/train needs 64 together; the smallest of them needs 48" in item["detail"]
    assert (item["count"], item["severity"]) == (3, "warn")
    assert item["next"]["command"] == "dovetail explain team/train"
    assert item["subject"] == {"type": "workload", "name": "train", "namespace": "team"}


def test_nodes_that_fell_silent_together_are_one_item_and_those_with_tasks_are_bad() -> None:
    nodes = [NodeFinding("a", "silent for 14 s", 2), NodeFinding("b", "silent for 15 s", 0), NodeFinding("c", "", 0)]
    together, alone = wording.silent(nodes)
    assert (together["what"], together["count"]) == ("2 nodes are offline: silent", 2)
    assert "2 tasks may still run there" in together["detail"]
    assert (together["severity"], alone["severity"]) == ("bad", "warn")
    (single,) = wording.silent(nodes[:1])
    assert single["what"] == "node a is offline: silent for 14 s"


def test_the_worst_come_first() -> None:
    def item(severity: str, count: int) -> AttentionItem:
        (one,) = wording.split_gangs([gang(count)])
        return {**one, "severity": severity}

    found = wording.worst_first([item("info", 9), item("warn", 1), item("bad", 1), item("warn", 5)])
    assert [(one["severity"], one["count"]) for one in found] == [("bad", 1), ("warn", 5), ("warn", 1), ("info", 9)]


def test_budgets_say_how_much_is_spent_and_whether_new_work_is_refused() -> None:
    spending = Spending(NOW, month_of(NOW), {("a", "USD"): 90 * NANO, ("b", "USD"): 120 * NANO, ("c", "USD"): NANO})
    refuses = Budget(amount=100, on_limit=OnLimit.REFUSE)
    found = list(wording.budgets([status_of(n, refuses, spending, NOW, 80, in_settings=False) for n in "abc"]))
    assert [(one["subject"]["name"], one["severity"]) for one in found] == [("a", "info"), ("b", "bad")]
    assert "is 90 % spent" in found[0]["what"]
    assert "120.00 of 100.00 USD" in found[1]["detail"]
    assert "new work is refused" in found[1]["detail"]


def test_updates_of_services_that_failed_or_got_no_further_are_told() -> None:
    spec = Service.model_validate({"kind": "service", "name": "web", "replicas": 2, "run": {"command": ["x"]}})
    record = ServiceRecord("default", "web", (Revision(1, spec, NOW),), 1, 2, progress_at=NOW)

    def told(at: float, rollout: RolloutState) -> list[tuple[str, str]]:
        status = ServiceStatus(replace(record, rollout=rollout), (), "no node fits")
        return [(one["severity"], one["what"]) for one in wording.rollouts([status], at)]

    assert told(NOW + 10, RolloutState.PROGRESSING) == []
    assert told(NOW + 600, RolloutState.PROGRESSING)[0] == (
        "warn",
        "the update of service web got no further for 10 minutes",
    )
    assert told(NOW, RolloutState.FAILED) == [("bad", "the update of service web has failed")]
    assert told(NOW, RolloutState.COMPLETE) == []


def test_overdue_starts_and_quarantines_have_times_that_people_read() -> None:
    late = wording.overdue("research", EXAMPLE, NOW, NOW + 600)
    assert late["what"] == "team/train, first in queue research, should have started 10 minutes ago"
    (item,) = wording.quarantined([NodeFinding("bad-1", "3 placements failed there", 1, NOW + 300)], NOW)
    assert item["what"] == "node bad-1 is in quarantine for 5 more minutes"


# --- on a live server ------------------------------------------------------------------------------------------


def kinds(client: Client) -> dict[str, AttentionItem]:
    return {item["kind"]: item for item in client.attention()["items"]}


def test_a_server_says_what_needs_attention_and_forgets_what_is_well_again(tmp_path: Path) -> None:
    sampled = {"trends": {"every": "100ms"}, "backend_health": {"probe_every": "1s"}}
    settings = settings_in(tmp_path, subsystems=sampled, loop={"heartbeat_timeout": "1s"})
    with serving(settings) as url, Client(url) as client:
        assert client.attention()["items"] == []
        client.submit({"name": "huge", "resources": {"cpu": 99}})
        client.submit({"name": "picky", "node_selector": {"colour": "green"}})
        refused = [{"key": "x", "effect": "NoSchedule"}]
        client.register_node({"name": "lonely", "capacity": {"cpu": 4}, "taints": refused})
        failing = {"command": ["x"], "simulate": {"run_time": "1ms", "exit_code": 3}}
        client.submit({"name": "fails", "replicas": 8, "run": failing})
        client.add_backend("broken", {"kind": "docker", "hosts": [{"name": "gone", "url": "tcp://127.0.0.1:1"}]})
        expected = {"never_fits", "backend_down", "failures_above_usual", "node_silent"}
        wait_for(lambda: expected <= set(kinds(client)), every_s=0.2)
        assert kinds(client)["node_silent"]["subject"]["name"] == "lonely"
        items = client.attention()["items"]
        never = [item["subject"]["name"] for item in items if item["kind"] == "never_fits"]
        assert sorted(never) == ["huge", "picky"]
        details = {item["subject"]["name"]: item["detail"] for item in items}
        assert details["picky"] == "no node has colour=green"
        assert "the largest node" in details["huge"]
        assert [item["severity"] for item in items] == sorted(
            (item["severity"] for item in items), key=["bad", "warn", "info"].index
        )
        assert "8 failures in the last hour, 0 in a usual one" in kinds(client)["failures_above_usual"]["what"]
        client.cancel("huge")
        client.cancel("picky")
        client.remove_backend("broken")
        client.heartbeat("lonely")
        wait_for(lambda: not {"never_fits", "backend_down"} & set(kinds(client)), every_s=0.2)


def test_very_many_findings_are_bounded_and_one_look_serves_all_who_ask(tmp_path: Path) -> None:
    with serving(settings_in(tmp_path)) as url, Client(url) as client:
        client.submit([{"name": f"w{i}", "resources": {"cpu": 100 + i}} for i in range(60)])
        wait_for(lambda: client.attention()["total"] == 60, every_s=0.2)
        found = client.attention()
        assert len(found["items"]) == MOST_ITEMS
        again = client.attention()
        assert again["at"] == found["at"] or again["at"] > found["at"] + KEPT_S
