"""Work that starts after other work, and what becomes of it when that fails."""

import pytest
from tests.unit.engine.scene import Scene


def test_work_waits_until_what_it_comes_after_has_succeeded() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("first")
    scene.submit("second", after={"first": "succeeded"})
    assert scene.tick() == ["first.0"]
    assert scene.why("second") == ("dependency", "starts after first (succeeded)")
    scene.end("first")
    assert scene.tick() == ["second.0"]


def test_work_after_several_waits_for_the_last_of_them() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("a")
    scene.submit("b")
    scene.submit("both", after={"a": "succeeded", "b": "finished"})
    assert scene.tick() == ["a.0", "b.0"]
    scene.end("a")
    assert scene.tick() == []
    scene.end("b", code=1)
    assert scene.tick() == ["both.0"]


@pytest.mark.parametrize("condition", ["succeeded", "finished"])
@pytest.mark.parametrize("ending", ["failed", "cancelled while it ran", "cancelled while it waited"])
def test_an_end_that_is_no_success_lets_those_start_that_want_an_end_and_fails_the_others(
    condition: str, ending: str
) -> None:
    scene = Scene()
    if ending != "cancelled while it waited":
        scene.join("n1")
    scene.submit("first")
    scene.submit("second", after={"first": condition})
    scene.tick()
    if ending == "failed":
        scene.end("first", code=1)
    else:
        scene.cancel("first")
        scene.stopped()
    if ending == "cancelled while it waited":
        scene.join("n1")
    placed = scene.tick()
    if condition == "finished":
        assert placed == ["second.0"]
    else:
        assert placed == []
        assert scene.record("second").state == "failed"
        assert scene.why("second")[0] == "dependency_failed"
        assert "after first succeeded, which it did not" in scene.why("second")[1]


def test_one_failed_task_of_many_is_no_success() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("first", replicas=3)
    scene.submit("second", after={"first": "succeeded"})
    scene.end("first", 0)
    scene.end("first", 1, code=1)
    assert scene.work("second").after
    scene.end("first", 2)
    assert scene.record("second").state == "failed"


def test_a_retry_that_succeeds_is_a_success() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("first", retries=1)
    scene.submit("second", after={"first": "succeeded"})
    scene.end("first", code=1)
    assert scene.tick(400) == ["first.0"]
    scene.end("first")
    assert scene.tick() == ["second.0"]


def test_a_failure_goes_through_a_chain_of_two_thousand() -> None:
    scene = Scene()
    scene.checks_after_events = False
    scene.submit("w0")
    for number in range(1, 2000):
        scene.submit(f"w{number}", after={f"w{number - 1}": "succeeded"})
    scene.check()
    scene.cancel("w0")
    scene.check()
    assert not scene.engine._state.work
    assert {str(record.state) for record in list(scene.notebook.workloads.values())[1:]} == {"failed"}


def test_a_chain_goes_on_after_a_restart() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("a")
    scene.submit("b", after={"a": "succeeded"})
    scene.submit("c", after={"b": "succeeded"})
    assert scene.tick() == ["a.0"]
    scene.restart()
    assert scene.tick() == []
    scene.end("a")
    scene.restart()
    assert scene.tick() == ["b.0"]
    scene.restart()
    scene.end("b", code=1)
    assert scene.record("c").state == "failed"


def test_what_ended_before_a_restart_is_not_waited_for_again() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("a")
    scene.submit("b")
    scene.submit("c", after={"a": "succeeded", "b": "succeeded"})
    scene.tick()
    scene.end("a")
    scene.restart()
    assert scene.tick() == []
    scene.end("b")
    assert scene.tick() == ["c.0"]


def test_a_gang_that_waits_for_another_starts_together_when_its_turn_comes() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("first", cpu=2)
    scene.submit("gang", after={"first": "succeeded"}, replicas=4, gang={"min": 4})
    assert scene.tick() == []
    scene.end("first")
    assert len(scene.tick()) == 4


def test_cancelling_what_waits_for_others_ends_it_and_its_own_dependents() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("a")
    scene.submit("b", after={"a": "succeeded"})
    scene.submit("c", after={"b": "finished"})
    assert scene.tick() == ["a.0"]
    scene.cancel("b")
    assert scene.record("b").state == "cancelled"
    assert scene.tick() == ["c.0"]


def test_the_time_to_be_placed_runs_also_while_others_are_waited_for() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("a")
    scene.submit("b", after={"a": "succeeded"}, deadline={"schedule_within": "1m"})
    scene.tick()
    scene.tick(61)
    assert scene.why("b")[0] == "timeout"
    scene.end("a")
    assert scene.tick() == []
