"""Reservations: accepted or refused with the reason, kept before and during their windows, rolled on, mended."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.reservations.reservations import check
from dovetail.model.event import NodeHealthChanged, ReservationMade, ReservationReleased
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation


class Booked(Scene):
    """A scene in which room can be reserved."""

    def reserve(self, id_: int = 1, **wanted: Any) -> ReservationRecord:
        assert self.refusal(**wanted) == ""
        self.hear(ReservationMade(id_, Reservation.model_validate(wanted)))
        return self.reserved(id_)

    def refusal(self, **wanted: Any) -> str:
        return check(self.engine._state, 99, Reservation.model_validate(wanted), self.now)[1]

    def reserved(self, id_: int = 1) -> ReservationRecord:
        return self.engine._state.reservations[id_]


@pytest.fixture
def scene() -> Booked:
    scene = Booked()
    for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2")):
        scene.join(name, cpu=4, labels={"rack": rack})
    return scene


ONE_CORE = {"cpu": 1}


# --- what is held -------------------------------------------------------------------------------------------


def test_without_amounts_whole_nodes_are_held(scene: Booked) -> None:
    record = scene.reserve(domain={"rack": "r1"}, duration=60)
    assert {name: amounts["cpu"] for name, amounts in record.holds.items()} == {"n1": 4000, "n2": 4000}
    assert scene.engine._state.cluster.resources.free[:, :2].max() == 0


def test_by_shape_the_fewest_nodes_are_touched(scene: Booked) -> None:
    scene.run("busy", cpu=3)
    record = scene.reserve(count=5, resources={"cpu": 1}, duration=60, start="+10s")
    tasks = {name: amounts["slots"] for name, amounts in record.holds.items()}
    assert sorted(tasks.values()) == [1, 4]
    assert scene.on("busy")[0] not in tasks


def test_by_shape_only_nodes_with_the_labels_are_taken(scene: Booked) -> None:
    assert set(scene.reserve(1, count=1, resources=ONE_CORE, node_selector={"rack": "r2"}, duration=9).holds) == {"n3"}
    assert set(scene.reserve(2, count=8, resources=ONE_CORE, domain={"rack": "r1"}, duration=9).holds) == {"n1", "n2"}


def test_tainted_nodes_are_left_out_unless_a_label_names_them(scene: Booked) -> None:
    scene.join("n4", cpu=64, labels={"rack": "r4"}, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    assert "n4" not in scene.reserve(1, count=1, resources=ONE_CORE, duration=9).holds
    assert "n4" in scene.reserve(2, count=1, resources=ONE_CORE, node_selector={"rack": "r4"}, duration=9).holds


# --- refused ------------------------------------------------------------------------------------------------


def test_work_without_a_known_end_is_named_as_the_reason(scene: Booked) -> None:
    scene.run("server", cpu=3, node_selector={"rack": "r2"})
    words = scene.refusal(node="n3", resources={"cpu": 2}, start="+1h", duration=60)
    assert words == (
        "node 'n3' lacks 1 of cpu at 1970-01-01T01:00:00Z: 2 wanted, 1 left, "
        "because of server (workload 1, no known end)"
    )


def test_work_that_ends_before_the_start_is_no_obstacle(scene: Booked) -> None:
    scene.run("batch", cpu=4, node_selector={"rack": "r2"}, deadline={"run_for": 100})
    assert "batch (workload 1, until 1970-01-01T00:01:40Z)" in scene.refusal(node="n3", start="+50s", duration=60)
    assert scene.refusal(node="n3", start="+100s", duration=60) == ""


def test_another_reservation_is_named_as_the_reason(scene: Booked) -> None:
    scene.reserve(7, node="n1", start="+100s", duration=100, holder="ops", tenant="web")
    words = scene.refusal(node="n1", resources=ONE_CORE, start="+150s", duration=10)
    assert words.endswith("because of reservation 7 for web (ops)")
    assert scene.refusal(node="n1", start="+200s", duration=10) == ""
    assert scene.refusal(node="n1", start="+90s", duration=10) == ""


def test_a_later_window_of_a_recurring_one_is_looked_at_too(scene: Booked) -> None:
    scene.reserve(1, node="n1", start="+1000s", duration=10)
    assert "reservation 1" in scene.refusal(node="n1", duration=50, every=320)  # the fourth: 960 to 1010
    assert scene.refusal(node="n1", duration=50, every=320, until="+700s") == ""


def test_a_window_meets_far_windows_of_a_recurring_one(scene: Booked) -> None:
    scene.reserve(1, node="n1", start="now", duration=100, every="1d")
    assert "reservation 1" in scene.refusal(node="n1", start=30 * 86400 + 50, duration=10)
    assert scene.refusal(node="n1", start=30 * 86400 + 100, duration=10) == ""


def test_more_than_a_node_has_is_refused_with_what_it_has(scene: Booked) -> None:
    assert scene.refusal(node="n1", resources={"cpu": 5}, duration=1).endswith("it never has more than 4")


def test_an_offline_node_cannot_be_reserved(scene: Booked) -> None:
    scene.hear(NodeHealthChanged("n2", False, "silent"))
    assert scene.refusal(node="n2", resources=ONE_CORE, duration=1) == "node 'n2' is offline: silent"
    assert scene.refusal(domain={"rack": "r1"}, duration=1) == "node 'n2' is offline: silent"
    assert "capacity for 8" in scene.refusal(count=9, resources=ONE_CORE, duration=1)


def test_an_unknown_domain_is_refused_with_those_that_are_there(scene: Booked) -> None:
    assert scene.refusal(domain={"rack": "r9"}, duration=1) == "no node has rack=r9; rack is one of r1, r2"
    assert scene.refusal(domain={"spine": "s1"}, duration=1) == "no node has a label 'spine'"


def test_too_many_tasks_are_refused_with_how_many_fit_and_why(scene: Booked) -> None:
    scene.run("server", cpu=4, node_selector={"rack": "r2"})
    words = scene.refusal(count=9, resources=ONE_CORE, duration=1)
    assert words.startswith("9 tasks are wanted and there is capacity for 8; node 'n3' lacks 1 of cpu")
    assert "server (workload 1" in words


def test_what_is_past_is_refused(scene: Booked) -> None:
    scene.now = 10_000.0
    assert "which is past" in scene.refusal(node="n1", start=5000, duration=60)
    assert "which is after" in scene.refusal(node="n1", start="+1h", every="1h", duration=60, until="+1m")
    assert scene.refusal(node="n1", start=5000, duration=60, every=600) == ""


def test_a_refused_reservation_changes_nothing(scene: Booked) -> None:
    scene.hear(ReservationMade(1, Reservation.model_validate({"node": "n1", "resources": {"cpu": 9}, "duration": 1})))
    assert not scene.engine._state.reservations
    assert not scene.notebook.reservations


# --- kept ---------------------------------------------------------------------------------------------------


def test_work_that_would_still_run_at_the_start_is_kept_off(scene: Booked) -> None:
    scene.reserve(domain={"rack": "r2"}, start="+100s", duration=50)
    here: dict[str, Any] = {"node_selector": {"rack": "r2"}}
    scene.submit("short", deadline={"run_for": 100}, **here)
    scene.submit("long", deadline={"run_for": 101}, **here)
    scene.submit("endless", **here)
    assert scene.tick() == ["short.0"]
    assert "reservation 1" in scene.why("long")[1] or scene.why("long")[0] == "promised_to_others"
    scene.tick(100)
    scene.end("short")
    assert scene.tick() == []
    assert sorted(scene.tick(50)) == ["endless.0", "long.0"]
    assert not scene.engine._state.reservations


def test_only_the_tenant_may_use_its_window(scene: Booked) -> None:
    scene.reserve(node="n3", duration=50, tenant="web")
    here: dict[str, Any] = {"node_selector": {"rack": "r2"}}
    scene.submit("other", cpu=1, **here)
    scene.submit("own", cpu=4, namespace="web", deadline={"run_for": 40}, **here)
    assert scene.tick() == ["own.0"]
    scene.end("own")
    assert scene.tick() == []
    assert scene.tick(50) == ["other.0"]


def test_what_the_tenant_runs_counts_against_its_reservation_once(scene: Booked) -> None:
    here: dict[str, Any] = {"node_selector": {"rack": "r2"}}
    scene.run("own", cpu=2, namespace="web", **here)
    scene.reserve(1, node="n3", resources=ONE_CORE, duration=50, tenant="web", start="+10s")
    scene.reserve(2, node="n3", resources={"cpu": 2}, duration=50, tenant="web", start="+10s")
    scene.submit("one", cpu=1, **here)
    scene.submit("another", cpu=1, **here)
    assert scene.tick() == ["one.0"]  # 4 cores, 3 reserved, 2 of them in use: 1 is left
    assert scene.refusal(node="n3", resources=ONE_CORE, duration=50, tenant="web", start="+20s")


def test_held_room_is_not_there_for_others_and_comes_back_with_the_release(scene: Booked) -> None:
    scene.reserve(node="n3", resources={"cpu": 3}, duration=50, holder="ops")
    scene.submit("w", cpu=2, node_selector={"rack": "r2"})
    assert scene.tick() == []
    assert scene.why("w")[0] == "insufficient_resources"
    scene.hear(ReservationReleased(1))
    assert scene.tick() == ["w.0"]
    assert scene.notebook.reservations == {}


# --- windows ------------------------------------------------------------------------------------------------


def test_a_recurring_reservation_begins_and_ends_again_and_again_until_its_last_day(scene: Booked) -> None:
    scene.reserve(node="n3", start="+100s", duration=50, every=300, until="+500s")
    seen = []
    for _ in range(8):
        scene.tick(50 if scene.now else 100)
        record = scene.engine._state.reservations.get(1)
        seen.append((scene.now, record.status, record.start) if record else (scene.now, "gone", 0.0))
    assert seen[0] == (100.0, "active", 100.0)
    assert seen[1] == (150.0, "planned", 400.0)
    assert seen[6] == (400.0, "active", 400.0)
    assert seen[7] == (450.0, "gone", 0.0)


def test_windows_that_passed_unseen_are_skipped(scene: Booked) -> None:
    scene.reserve(node="n3", start="+100s", duration=50, every=300)
    scene.tick(5 * 300 + 120)
    assert (scene.reserved().start, scene.reserved().status) == (1600.0, "active")


def test_the_engine_asks_to_be_woken_for_the_next_window(scene: Booked) -> None:
    scene.reserve(node="n3", start="+100s", duration=50)
    assert scene.wakes[-1] == 100.0
    scene.tick(100)
    assert scene.wakes[-1] == 150.0


def test_a_restart_finds_everything_as_it_was(scene: Booked) -> None:
    scene.reserve(1, node="n3", resources=ONE_CORE, duration=500, holder="ops")
    scene.reserve(2, count=2, resources={"cpu": 3}, start="+100s", duration=50, every=300, tenant="web")
    scene.tick(10)
    before = scene.engine._state
    scene.restart()
    after = scene.engine._state
    assert after.reservations == before.reservations
    assert (after.cluster.resources.reserved == before.cluster.resources.reserved).all()
    assert after.pending.namespaces_with_reservations == {"web"}
    assert after.timers.next == 110.0 - 10.0
    for id_, windows in before.promises.reserved.items():
        kept = after.promises.reserved[id_]
        assert [(w.start, w.end, w.tenant) for w in kept] == [(w.start, w.end, w.tenant) for w in windows]
    scene.submit("endless", cpu=4)
    assert len(scene.tick()) <= 1


# --- nodes that leave ---------------------------------------------------------------------------------------


def test_a_node_that_leaves_is_replaced_where_there_is_room(scene: Booked) -> None:
    record = scene.reserve(count=2, resources={"cpu": 3}, start="+100s", duration=50)
    gone = next(iter(record.holds))
    scene.leave(gone)
    mended = scene.reserved()
    assert gone not in mended.holds
    assert (len(mended.holds), mended.status, mended.trouble) == (2, "planned", "")
    assert scene.notebook.reservations[1] == mended


def test_a_node_that_cannot_be_replaced_leaves_the_reservation_degraded_until_one_joins(scene: Booked) -> None:
    scene.reserve(count=3, resources={"cpu": 3}, duration=50)
    scene.leave("n2")
    degraded = scene.reserved()
    assert degraded.status == "degraded"
    assert degraded.trouble.startswith("3 tasks are wanted and there is capacity for 2")
    scene.join("n9", cpu=4)
    assert (scene.reserved().status, set(scene.reserved().holds)) == ("active", {"n1", "n3", "n9"})


def test_a_domain_that_lost_a_node_says_so_and_takes_a_new_one(scene: Booked) -> None:
    scene.reserve(domain={"rack": "r1"}, duration=50)
    scene.leave("n2")
    assert (scene.reserved().status, scene.reserved().trouble) == ("degraded", "n2 left; 1 of 2 nodes are held")
    scene.join("n5", cpu=4, labels={"rack": "r1"})
    assert (scene.reserved().status, set(scene.reserved().holds)) == ("active", {"n1", "n5"})


def test_a_reservation_goes_with_the_last_of_its_named_nodes(scene: Booked) -> None:
    scene.reserve(nodes=["n1", "n2"], duration=50)
    scene.leave("n1")
    assert scene.reserved().trouble == "there is no node 'n1'"
    scene.leave("n2")
    assert not scene.engine._state.reservations
    assert not scene.notebook.reservations


def test_the_row_of_a_node_that_left_keeps_no_promise(scene: Booked) -> None:
    scene.reserve(node="n1", duration=50, tenant="web")
    scene.leave("n1")
    scene.join("n7", cpu=4, labels={"rack": "r7"})
    scene.submit("w", cpu=4, node_selector={"rack": "r7"})
    assert scene.tick() == ["w.0"]
