"""The tracker: the engine holds exactly the pods that count, whatever order things are told in."""

from typing import Any

import pytest
from tests.invariants import check_invariants
from tests.unit.kubernetes.devices.offers import claim, device, device_class, request, slice_

from dovetail.engine.engine import Engine
from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes.objects.nodes import read_node
from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.settings import DEFAULT_NAME, KubernetesSchedulerSettings, line_of
from dovetail.model.command import Bind, Command, Stop
from dovetail.model.event import NodeJoined, Tick

CORE = 1000.0


class Stage:
    def __init__(self) -> None:
        self.engine = Engine(KubernetesSchedulerSettings().engine())
        reader = PodReader(line_of(DEFAULT_NAME))
        self.devices = reader.devices
        self.tracker = PodTracker(self.engine, {DEFAULT_NAME: reader}, lambda: 0.0)

    def node(self, name: str, cpu: str = "4") -> None:
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
        node = {"metadata": {"name": name}, "status": {"allocatable": amounts}}
        self.devices.inventory.set_node(name, {})
        self.engine.handle(NodeJoined(read_node(node, marks=self.devices.marks(name))), 0.0)
        self.tracker.node_came(name)

    def decide(self) -> list[Bind]:
        found = [one for one in self.engine.handle(Tick(100), 0.0) if isinstance(one, Bind)]
        for bind in found:
            self.tracker.chose(bind.task, bind.node)
        self.engine.take_decisions()
        check_invariants(self.engine._state.cluster)
        return found

    def commands(self) -> list[Command]:
        """All that it decides now, and none of it carried out."""
        self.tracker.take_commands()  # about pods that go by themselves
        found = self.engine.handle(Tick(100), 0.0)
        self.engine.take_decisions()
        check_invariants(self.engine._state.cluster)
        return found

    @property
    def taken(self) -> float:
        """Cores that pods hold."""
        tables = self.engine._state.cluster.resources
        return float(tables.allocated[tables.index["cpu"]].sum()) / CORE


def pod(name: str, node: str = "", uid: str = "", phase: str = "Pending", **more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    spec = {"schedulerName": DEFAULT_NAME, "containers": [container], **more}
    about = {"namespace": "default", "name": name, "uid": uid or f"uid of {name}"}
    return {"metadata": about, "spec": spec | ({"nodeName": node} if node else {}), "status": {"phase": phase}}


@pytest.fixture
def stage() -> Stage:
    found = Stage()
    found.node("n1")
    return found


def test_a_pod_that_waits_is_placed_and_counts_once_when_the_watch_says_so_too(stage: Stage) -> None:
    stage.tracker.seen(pod("a"))
    (bind,) = stage.decide()
    assert (bind.node, stage.taken) == ("n1", 1)
    stage.tracker.seen(pod("a", "n1"))
    assert stage.decide() == []
    assert stage.taken == 1
    stage.tracker.gone(("default", "a"))
    assert stage.taken == 0
    stage.decide()
    assert not stage.engine._state.work


def test_a_pod_that_somebody_else_bound_meanwhile_counts_where_it_is(stage: Stage) -> None:
    stage.node("n2")
    stage.tracker.seen(pod("a"))
    (bind,) = stage.decide()
    other = "n2" if bind.node == "n1" else "n1"
    stage.tracker.seen(pod("a", other))
    stage.decide()
    cluster = stage.engine._state.cluster
    assert len(cluster.placements.by_row[cluster.rows[other]]) == 1
    assert stage.taken == 1


def test_finished_pods_hold_nothing(stage: Stage) -> None:
    stage.tracker.seen(pod("a", "n1", phase="Running"))
    assert stage.taken == 1
    stage.tracker.seen(pod("a", "n1", phase="Succeeded"))
    assert stage.taken == 0


def test_a_pod_on_a_node_that_comes_later_counts_from_then_on_and_is_never_placed(stage: Stage) -> None:
    stage.tracker.seen(pod("a", "n9"))
    assert stage.decide() == []
    assert stage.taken == 0
    stage.node("n9")
    assert stage.taken == 1
    stage.tracker.node_goes("n9")
    assert stage.taken == 0
    assert stage.decide() == []


def test_a_pod_of_the_same_name_is_another(stage: Stage) -> None:
    stage.tracker.seen(pod("a", "n1", uid="1"))
    stage.tracker.seen(pod("a", uid="2"))
    assert stage.taken == 0
    assert len(stage.decide()) == 1


def test_gated_pods_and_those_of_others_wait_for_nobody_here(stage: Stage) -> None:
    stage.tracker.seen(pod("gated", schedulingGates=[{"name": "later"}]))
    stage.tracker.seen(pod("other", schedulerName="default-scheduler"))
    assert stage.decide() == []
    stage.tracker.seen(pod("gated"))
    assert len(stage.decide()) == 1


def test_a_condition_that_changes_nothing_does_not_lose_it_its_place_in_line(stage: Stage) -> None:
    stage.tracker.seen(pod("a", nodeSelector={"no": "where"}))
    stage.decide()
    before = stage.tracker.pods["default", "a"].id
    changed = pod("a", nodeSelector={"no": "where"})
    changed["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    stage.tracker.seen(changed)
    assert stage.tracker.pods["default", "a"].id == before


def test_a_pod_that_is_bound_and_dies_at_once_leaves_nothing_behind(stage: Stage) -> None:
    stage.tracker.seen(pod("a"))
    stage.decide()
    stage.tracker.gone(("default", "a"))
    stage.decide()
    assert stage.taken == 0
    assert not stage.tracker.by_id


# --- gangs ---------------------------------------------------------------------------------------------------


def member(name: str, least: int = 3, gang: str = "g", **more: Any) -> dict[str, Any]:
    found = pod(name, **more)
    found["metadata"]["annotations"] = {f"{PREFIX}gang": gang, f"{PREFIX}gang-min": str(least)}
    return found


def labelled(name: str, **more: Any) -> dict[str, Any]:
    found = pod(name, **more)
    found["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "g"}
    return found


def group(least: int) -> dict[str, Any]:
    return {"metadata": {"namespace": "default", "name": "g"}, "spec": {"minMember": least}}


def test_a_gang_waits_until_all_of_it_are_there(stage: Stage) -> None:
    for name in "ab":
        stage.tracker.seen(member(name))
    assert stage.decide() == []
    stage.tracker.seen(member("c"))
    assert len(stage.decide()) == 3


def test_a_gang_that_does_not_fit_holds_nothing(stage: Stage) -> None:
    for number in range(5):
        stage.tracker.seen(member(f"m{number}", least=5))
    assert stage.decide() == []
    assert stage.taken == 0
    stage.node("n2", cpu="1")
    assert len(stage.decide()) == 5


def test_pods_of_a_group_that_nobody_knows_are_held_and_start_when_it_is_known(stage: Stage) -> None:
    stage.tracker.seen(labelled("a"))
    ((known, why),) = stage.tracker.take_held()
    assert known.name == "a"
    assert "'g', which does not exist" in why
    stage.tracker.seen(labelled("a"))
    assert stage.tracker.take_held() == []  # it was said
    assert stage.tracker.gangs.set_group(group(2))
    stage.tracker.read_again()
    assert stage.decide() == []
    stage.tracker.seen(labelled("b"))
    assert len(stage.decide()) == 2
    assert stage.tracker.held == {}


def test_a_group_that_is_made_smaller_lets_those_start_that_are_there(stage: Stage) -> None:
    stage.tracker.gangs.set_group(group(3))
    for name in "ab":
        stage.tracker.seen(labelled(name))
    assert stage.decide() == []
    assert stage.tracker.gangs.set_group(group(2))
    stage.tracker.read_again()
    assert len(stage.decide()) == 2


def test_pods_that_have_done_their_work_are_not_waited_for(stage: Stage) -> None:
    stage.tracker.seen(member("d"))
    for name in "ab":
        assert stage.decide() == []
        stage.tracker.seen(member(name, node="n1", phase="Succeeded"))
    assert len(stage.decide()) == 1


def test_once_those_are_deleted_others_are_waited_for_in_their_place(stage: Stage) -> None:
    for name in "ab":
        stage.tracker.seen(member(name, node="n1", phase="Succeeded"))
        stage.tracker.deleted(("default", name), f"uid of {name}")
    stage.tracker.seen(member("d"))
    assert stage.decide() == []


def test_members_that_are_about_to_go_are_none(stage: Stage) -> None:
    for name in "abc":
        found = member(name, node="n1")
        found["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        stage.tracker.seen(found)
    stage.tracker.seen(member("d"))
    assert stage.decide() == []
    assert stage.taken == 3


def test_a_gang_that_has_started_takes_others_one_by_one(stage: Stage) -> None:
    for name in "abc":
        stage.tracker.seen(member(name, node="n1"))
    stage.tracker.seen(member("d"))
    assert len(stage.decide()) == 1


def test_a_pod_whose_annotation_is_wrong_waits_and_is_placed_when_it_is_mended(stage: Stage) -> None:
    found = pod("a")
    found["metadata"]["annotations"] = {f"{PREFIX}topology": "required"}
    stage.tracker.seen(found)
    assert stage.decide() == []
    ((_, why),) = stage.tracker.take_held()
    assert f"annotation {PREFIX}topology" in why
    stage.tracker.seen(pod("a"))
    assert len(stage.decide()) == 1


def test_a_pod_that_claims_devices_waits_until_they_can_be_had(stage: Stage) -> None:
    asking = pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
    stage.tracker.seen(asking)
    assert stage.decide() == [], "the claim is not there"
    stage.devices.set_claim(claim(request()))
    stage.devices.set_class(device_class())
    stage.tracker.read_again(with_claims=True)
    assert stage.decide() == [], "no node has a device"
    stage.devices.inventory.set_slice(slice_("s", device("d")))
    stage.node("n1")
    assert [bind.node for bind in stage.decide()] == ["n1"]


def test_on_its_node_a_pod_counts_whatever_it_claims(stage: Stage) -> None:
    stage.tracker.seen(pod("b", node="n1", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]))
    assert stage.taken == 1


def test_a_gang_whose_claims_lack_devices_waits_and_says_why(stage: Stage) -> None:
    stage.devices.set_claim(claim(request()))
    stage.devices.set_class(device_class())
    stage.tracker.seen(member("a", least=1, resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}]))
    assert stage.decide() == []
    ((_, why),) = stage.tracker.take_held()
    assert "resource claim without devices" in why


# --- preemption ----------------------------------------------------------------------------------------------


def leaving(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": "2024-01-01T00:00:00Z"}}


def test_who_waits_for_victims_asks_for_no_others_while_those_end(stage: Stage) -> None:
    stage.node("n2")
    for node in ("n1", "n2"):
        for number in range(4):
            stage.tracker.seen(pod(f"{node}-{number}", node=node))
    urgent = pod("urgent", priority=10)
    urgent["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    stage.tracker.seen(urgent)
    victims = [one for one in stage.commands() if isinstance(one, Stop)]
    assert len({one.node for one in victims}) == 1
    assert len(victims) == 2
    names = [stage.tracker.by_id[one.task.workload].name for one in victims]
    for name in names:
        stage.tracker.seen(leaving(pod(name, node=victims[0].node)))
        assert [one for one in stage.commands() if isinstance(one, Stop | Bind)] == []
    stage.tracker.deleted(("default", names[0]), f"uid of {names[0]}")
    assert [one for one in stage.commands() if isinstance(one, Stop | Bind)] == []
    stage.tracker.deleted(("default", names[1]), f"uid of {names[1]}")
    assert [one.node for one in stage.decide()] == [victims[0].node]


def test_a_mark_on_a_pod_that_we_told_to_go_is_no_news(stage: Stage) -> None:
    victim, other = pod("victim", node="n1"), pod("other", node="n1", priority=10)
    for name in ("a", "b"):
        stage.tracker.seen(pod(name, node="n1", priority=10))
    stage.tracker.seen(victim)
    stage.tracker.seen(other)
    assert not stage.tracker.is_our_eviction(leaving(victim))
    stage.tracker.seen(pod("urgent", priority=10))
    (stop,) = [one for one in stage.commands() if isinstance(one, Stop)]
    assert stage.tracker.by_id[stop.task.workload].name == "victim"
    assert stage.tracker.is_our_eviction(leaving(victim))
    assert not stage.tracker.is_our_eviction(victim)
    assert not stage.tracker.is_our_eviction(leaving(other))
    ended = leaving(victim) | {"status": {"phase": "Failed"}}
    assert not stage.tracker.is_our_eviction(ended)
    stage.tracker.seen(leaving(victim))
    assert not stage.tracker.is_our_eviction(leaving(victim))  # it was read all the same: the next change is looked at


def test_who_waits_for_victims_takes_room_that_comes_elsewhere(stage: Stage) -> None:
    for number in range(4):
        stage.tracker.seen(pod(f"n1-{number}", node="n1"))
    stage.tracker.seen(pod("urgent", priority=10))
    assert any(isinstance(one, Stop) for one in stage.commands())
    stage.node("n2")
    assert [one.node for one in stage.decide()] == ["n2"]
