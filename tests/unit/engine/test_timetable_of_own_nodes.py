"""With `timetable: true`, waiting work that has a deadline is planned together on own nodes."""

from typing import Any

from tests.unit.engine.scene import Scene

CLOUD = {"price_per_hour": 0.2, "running": False, "start_up": "2m", "place": "aws/us-east-1"}
SPOT = CLOUD | {"price_per_hour": 0.05, "spot": True, "interruption": 0.05}
HOUR, MINUTE = 3600.0, 60.0


def scene(**market: Any) -> Scene:
    """An own node of eight cores, and five in a cloud."""
    found = Scene(market={"prefer": "cheapest", "timetable": True} | market)
    found.join("own", 8)
    for number in range(5):
        found.join(f"cloud-{number}", 8, offer=CLOUD)
    return found


def lasts(run: str, within: str) -> dict[str, Any]:
    return {"deadline": {"run_for": run, "finish_within": within}}


def node_of(one: Scene, name: str) -> str | None:
    return one.work(name).task(0).node


def test_dear_work_that_can_wait_leaves_the_time_before_for_work_that_cannot() -> None:
    one = scene()
    one.submit("patient", 8, **lasts("10h", "30h"))
    one.submit("tight", 8, **lasts("5h", "6h"))
    assert one.tick() == ["tight.0"]
    assert node_of(one, "tight") == "own"
    assert one.work("patient").reason == "waits_for_cheaper"
    words = "has a start on own at 1970-01-01T19:56:00Z, by the timetable of own nodes"
    assert one.work("patient").message == words


def test_it_starts_as_soon_as_the_node_is_free() -> None:
    one = scene()
    one.submit("patient", 8, **lasts("10h", "30h"))
    one.submit("tight", 8, **lasts("5h", "6h"))
    one.tick()
    one.tick(5 * HOUR)
    one.end("tight")
    assert one.tick() == ["patient.0"]
    assert node_of(one, "patient") == "own"


def test_work_without_a_start_goes_elsewhere_at_the_last_moment() -> None:
    one = scene()
    for name in ("one", "other"):
        one.submit(name, 8, **lasts("5h", "6h"))
    assert len(one.tick()) == 1
    waits = next(name for name in ("one", "other") if node_of(one, name) is None)
    one.tick(50 * MINUTE)
    assert node_of(one, waits) is None
    one.tick(7 * MINUTE)
    assert str(node_of(one, waits)).startswith("cloud")


def test_work_without_a_start_goes_to_a_machine_that_may_be_taken_away_at_once() -> None:
    one = scene()
    one.join("spot", 8, offer=SPOT)
    for name in ("one", "other"):
        one.submit(name, 8, **lasts("5h", "16h"))
    one.submit("long", 8, **lasts("20h", "21h"))
    one.tick()
    assert sorted(str(node_of(one, name)) for name in ("one", "other", "long")) == ["None", "own", "spot"]


def test_a_later_job_that_is_dearer_takes_the_start_of_another() -> None:
    one = scene()
    one.run("running", 8, **lasts("5h", "6h"))
    one.submit("cheap", 8, **lasts("2h", "9h"))
    one.tick(1.0)
    assert one.engine._state.timetable.starts.keys() == {one.ids["cheap"]}
    one.submit("dear", 8, **lasts("20h", "26h"))
    one.tick(1.0)
    assert one.engine._state.timetable.starts.keys() == {one.ids["dear"]}


def test_work_that_was_refused_at_its_start_is_work_like_any_other_for_a_while() -> None:
    one = scene()
    one.submit("waits", 8, **lasts("5h", "30h"))
    one.submit("plain", 8, prefer="local-first")
    one.tick()
    assert {node_of(one, "waits"), node_of(one, "plain")} >= {"own"}
    one.tick(24 * HOUR + 57 * MINUTE)
    assert node_of(one, "waits") is not None


def test_after_a_restart_there_is_a_timetable_again() -> None:
    one = scene()
    one.submit("patient", 8, **lasts("10h", "30h"))
    one.submit("tight", 8, **lasts("5h", "6h"))
    one.tick()
    one.restart()
    one.tick()
    one.tick(1.0)
    assert one.engine._state.timetable.starts.keys() == {one.ids["patient"]}


def test_nothing_is_planned_unless_the_settings_say_so() -> None:
    one = scene(timetable=False)
    one.submit("patient", 8, **lasts("10h", "30h"))
    assert one.tick() == ["patient.0"]
    assert not one.engine._state.timetable.asked


def test_nothing_is_kept_of_work_that_is_gone() -> None:
    one = scene()
    for name in ("first", "second"):
        one.submit(name, 8, **lasts("5h", "6h"))
    one.submit("no-end-known", 8, deadline={"finish_within": "6h"})
    one.tick()
    for name in ("second", "no-end-known"):
        one.cancel(name)
    one.tick()
    one.end("first")
    one.tick()
    table = one.engine._state.timetable
    for kept in (table.asked, table.known, table.untold, table.weights, table.values, table.last, table.barred):
        assert not kept
