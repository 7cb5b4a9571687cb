"""What the answers to health checks add up to."""

from typing import Any

import pytest

from dovetail.model.services.health import Health
from dovetail.services.health_state import (
    AttemptHealth,
    CheckKind,
    due_checks,
    is_ready,
    is_unknown,
    must_restart,
    trouble_in,
)

STARTUP, READINESS, LIVENESS = CheckKind


def health(**checks: dict[str, Any]) -> Health:
    return Health.model_validate({name: {"tcp": 80, "failures": 2, **more} for name, more in checks.items()})


def after(given: Health, *answers: tuple[CheckKind, str]) -> AttemptHealth:
    found = AttemptHealth(0.0)
    for kind, problem in answers:
        found = found.answered(kind, getattr(given, kind), problem)
    return found


def asked(given: Health, found: AttemptHealth) -> list[CheckKind]:
    return [kind for kind, _ in due_checks(given, found)]


def test_without_checks_it_is_ready_at_once_and_never_unknown() -> None:
    assert is_ready(Health(), AttemptHealth(0.0))
    assert not is_unknown(Health(), AttemptHealth(0.0))
    assert trouble_in(Health(), AttemptHealth(0.0)) == must_restart(Health(), AttemptHealth(0.0)) == ""


def test_a_liveness_check_alone_does_not_keep_it_from_being_ready() -> None:
    given = health(liveness={})
    assert is_ready(given, after(given, (LIVENESS, "bad")))


def test_it_is_ready_after_its_first_good_answer_and_unready_after_enough_bad_ones() -> None:
    given = health(readiness={})
    answers = [(READINESS, problem) for problem in ("closed", "", "closed", "closed")]
    assert [is_ready(given, after(given, *answers[:n])) for n in range(5)] == [False, False, True, True, False]
    assert trouble_in(given, after(given, *answers)) == "readiness check: closed"


def test_several_successes_are_asked_for_in_a_row() -> None:
    given = health(readiness={"successes": 2})
    found = [(READINESS, problem) for problem in ("", "no", "", "")]
    assert [is_ready(given, after(given, *found[:n])) for n in range(5)] == [False, False, False, False, True]


def test_it_is_unknown_until_enough_answers_came() -> None:
    given = health(readiness={})
    answers = [(READINESS, "closed"), (READINESS, "closed")]
    assert [is_unknown(given, after(given, *answers[:n])) for n in range(3)] == [True, True, False]
    assert not is_unknown(given, after(given, (READINESS, "")))


def test_until_startup_is_well_nothing_else_is_asked() -> None:
    given = health(startup={}, readiness={}, liveness={})
    assert asked(given, AttemptHealth(0.0)) == [STARTUP]
    assert trouble_in(given, AttemptHealth(0.0)) == "waits for its startup check"
    started = after(given, (STARTUP, ""))
    assert asked(given, started) == [READINESS, LIVENESS]
    assert trouble_in(given, started) == "waits for its readiness check"
    assert is_ready(given, after(given, (STARTUP, ""), (READINESS, "")))


@pytest.mark.parametrize("kind", [STARTUP, LIVENESS])
def test_it_starts_again_when_startup_or_liveness_failed_often_enough(kind: CheckKind) -> None:
    given = health(startup={}, liveness={}) if kind is STARTUP else health(liveness={})
    assert not must_restart(given, after(given, (kind, "closed")))
    assert not must_restart(given, after(given, (kind, "closed"), (kind, ""), (kind, "closed")))
    assert must_restart(given, after(given, (kind, "closed"), (kind, "closed"))) == (
        f"its {kind} check failed 2 times in a row: closed"
    )


def test_a_failed_readiness_check_starts_nothing_again() -> None:
    given = health(readiness={})
    assert not must_restart(given, after(given, *[(READINESS, "closed")] * 9))
