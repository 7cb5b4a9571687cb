"""The audit finds nothing in an honest record, and each of its rules finds the fault that it is there for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.e2e.kills.audit import RULES, Evidence, audit
from tests.e2e.kills.client_record import ClientRecord, Outcome, SeenEnd, SentWorkload
from tests.e2e.kills.command_record import CommandLine

Forgery = Callable[[Evidence], Evidence]


def line(what: str, key: str, at: float) -> CommandLine:
    task, _, attempt = key.rpartition(".")
    return CommandLine(what, task, int(attempt), at)


def task(replica: int, state: str, attempt: int = 1, message: str = "") -> dict[str, Any]:
    return {"replica": replica, "state": state, "attempt": attempt, "message": message}


def honest() -> Evidence:
    """Work of every kind: a gang, a retried task, a time limit, a request that fits nowhere, two that were cancelled,
    one of them before it began, and one whose supervisor was killed."""
    names = {1: "gang", 2: "retried", 3: "overrun", 4: "large", 5: "stopped", 6: "dropped", 7: "struck"}
    outcomes = {"overrun": Outcome.OVERRUNS, "large": Outcome.NEVER_FITS, "stopped": Outcome.CANCELLED}
    sent = {
        name: SentWorkload(name, outcomes.get(name, Outcome.SUCCEEDS), fails_first=name == "retried")
        for name in names.values()
    }
    client = ClientRecord(
        sent=sent | {"unanswered": SentWorkload("unanswered", Outcome.SUCCEEDS)},
        acknowledged=dict(names),
        cancel_sent={5, 6},
        cancelled_at={5: 30.0, 6: 30.0},
        seen_ended={2: SeenEnd("succeeded", 20.0), 5: SeenEnd("cancelled", 32.0)},
    )
    tasks = {
        1: [task(0, "succeeded"), task(1, "succeeded")],
        2: [task(0, "succeeded", attempt=2)],
        3: [task(0, "failed", message="stopped: it ran longer than its time limit of 500ms")],
        4: [task(0, "failed", attempt=0, message="no node within 500ms")],
        5: [task(0, "cancelled")],
        6: [task(0, "cancelled", attempt=0)],
        7: [task(0, "failed", message="lost: its supervisor was killed")],
    }
    states = {workload: rows[0]["state"] for workload, rows in tasks.items()}
    workloads = {number: {"name": name, "state": states[number], "message": ""} for number, name in names.items()}
    commands = [
        line("begin", "1.0.1", 10.0),
        line("begin", "1.1.1", 10.0),
        line("end", "1.0.1", 11.0),
        line("end", "1.1.1", 11.0),
        line("begin", "2.0.1", 12.0),
        line("begin", "2.0.2", 14.0),
        line("end", "2.0.2", 15.0),
        line("begin", "3.0.1", 16.0),
        line("beat", "3.0.1", 16.1),
        line("begin", "7.0.1", 17.0),
        line("begin", "5.0.1", 30.005),  # it had its node before the cancel was acknowledged
    ]
    return Evidence(commands, client, workloads, tasks, {"5.0.1": 29.9}, frozenset({"7.0.1"}))


def without_workload(found: Evidence) -> Evidence:
    del found.workloads[2]  # type: ignore[attr-defined]
    return found


def exchanged(found: Evidence) -> Evidence:
    found.workloads[2]["name"] = "gang"
    return found


def with_second_copy(found: Evidence) -> Evidence:
    return replace(found, workloads={**found.workloads, 8: dict(found.workloads[2])})


def with_stranger(found: Evidence) -> Evidence:
    return replace(found, workloads={**found.workloads, 8: {"name": "stranger", "state": "succeeded", "message": ""}})


def with_wrong_answer(found: Evidence) -> Evidence:
    found.client.wrong_answers.append("500: Internal Server Error")
    return found


def with_lines(*lines: CommandLine) -> Forgery:
    return lambda found: replace(found, commands=[*found.commands, *lines])


def without_line(what: str, key: str) -> Forgery:
    def forge(found: Evidence) -> Evidence:
        return replace(found, commands=[one for one in found.commands if (one.what, one.key) != (what, key)])

    return forge


def with_state(workload: int, state: str, message: str = "") -> Forgery:
    def forge(found: Evidence) -> Evidence:
        found.workloads[workload].update(state=state, message=message)
        for row in found.tasks[workload]:
            row.update(state=state, message=message)
        return found

    return forge


def with_open_task(found: Evidence) -> Evidence:
    found.tasks[1][1]["state"] = "stopping"
    return found


def struck_by_nobody(found: Evidence) -> Evidence:
    return replace(found, struck=frozenset())


def placed_after_cancel(found: Evidence) -> Evidence:
    return replace(found, placed_at={"5.0.1": 30.001})


def placed_unknown(found: Evidence) -> Evidence:
    return replace(found, placed_at={})


def seen_otherwise(found: Evidence) -> Evidence:
    found.client.seen_ended[1] = SeenEnd("failed", 20.0)
    return found


FORGERIES: list[tuple[str, Forgery, str]] = [
    ("what_was_acknowledged_exists", without_workload, "the server does not know it"),
    ("what_was_acknowledged_exists", exchanged, "which is now gang"),
    ("nothing_is_accepted_twice", with_second_copy, "sent once and exists 2 times"),
    ("nothing_is_accepted_twice", with_stranger, "was never sent"),
    ("answers_are_right", with_wrong_answer, "500"),
    ("an_attempt_begins_once", with_lines(line("begin", "1.0.1", 10.5)), "began 2 times"),
    ("attempts_of_a_task_do_not_overlap", with_lines(line("beat", "2.0.1", 15.1)), "after attempt 2 had begun"),
    ("only_what_exists_runs", with_lines(line("begin", "9.0.1", 15.0)), "no such attempt"),
    ("only_what_exists_runs", with_lines(line("begin", "1.0.2", 15.0)), "no such attempt"),
    ("what_succeeded_ran_to_its_end", without_line("begin", "2.0.2"), "never wrote begin"),
    ("what_succeeded_ran_to_its_end", without_line("end", "1.1.1"), "never wrote end"),
    ("everything_ends", with_state(1, "running"), "is still running"),
    ("everything_ends", with_open_task, "1.1.1 is still stopping"),
    ("everything_ends_as_it_should", with_state(1, "failed", "lost: no trace"), "failed: lost: no trace"),
    ("everything_ends_as_it_should", with_state(3, "succeeded"), "should have failed"),
    ("everything_ends_as_it_should", struck_by_nobody, "supervisor was killed"),
    ("what_is_cancelled_ends_as_cancelled", with_state(1, "cancelled"), "nobody asked for that"),
    ("what_is_cancelled_ends_as_cancelled", with_state(5, "succeeded"), "was cancelled, and succeeded"),
    ("what_is_cancelled_ends_as_cancelled", with_state(6, "failed"), "was cancelled, and failed"),
    ("what_cannot_end_by_itself_never_does", with_lines(line("begin", "4.0.1", 16.0)), "fits nowhere"),
    ("what_cannot_end_by_itself_never_does", with_lines(line("end", "3.0.1", 17.0)), "should have been stopped"),
    ("what_cannot_end_by_itself_never_does", with_lines(line("end", "5.0.1", 31.0)), "should have been stopped"),
    ("cancelled_work_does_not_start", placed_after_cancel, "0.001 s after the cancel was acknowledged"),
    ("cancelled_work_does_not_start", placed_unknown, "does not know when it was placed"),
    ("what_ended_stays_ended", with_lines(line("beat", "2.0.2", 20.1)), "after workload succeeded"),
    ("what_ended_stays_ended", seen_otherwise, "had failed, and later succeeded"),
]


def test_an_honest_record_is_found_to_be_right() -> None:
    assert audit(honest()) == []


def test_work_that_failed_by_itself_when_it_was_cancelled_is_right() -> None:
    found = with_state(2, "failed", "exited with status 3")(honest())
    found.client.cancel_sent.add(2)
    found.client.cancelled_at[2] = 13.0
    found.client.seen_ended[2] = SeenEnd("failed", 20.0)
    assert audit(replace(found, placed_at={**found.placed_at, "2.0.1": 11.0, "2.0.2": 13.0})) == []


@pytest.mark.parametrize(("rule", "forge", "words"), FORGERIES)
def test_a_forged_record_is_found_out(rule: str, forge: Forgery, words: str) -> None:
    found = [said for said in audit(forge(honest())) if said.startswith(f"{rule}: ")]
    assert words in "\n".join(found)


def test_every_rule_has_a_forgery() -> None:
    assert {rule.__name__ for rule in RULES} == {rule for rule, _, _ in FORGERIES}


def test_an_answer_that_is_not_the_first_one_is_written_down() -> None:
    record = ClientRecord(sent={name: SentWorkload(name, Outcome.SUCCEEDS) for name in ("a", "b")})
    for _ in range(2):
        record.accepted([{"id": 1, "name": "a"}])
    assert record.wrong_answers == []
    record.accepted([{"id": 1, "name": "b"}, {"id": 2, "name": "c"}])
    assert record.wrong_answers == [
        "workload 1 was given to two submissions: a and b",
        "c was accepted and never sent",
    ]
