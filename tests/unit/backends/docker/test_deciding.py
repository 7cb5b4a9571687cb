"""What is done next for an attempt follows from the journal and the engine alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.docker.deciding import Seen, Stage, decide, how_it_ended, moment, seen_in
from dovetail.backends.docker.failures import FAILURES
from dovetail.backends.hosts.attempt_step import AttemptAction
from dovetail.model.failure_cause import FailureCause

ORDERED = Record("1.0.1", "one", State.ORDERED)
MADE = Record("1.0.1", "one", State.ORDERED, created=True)
STOPPING = Record("1.0.1", "one", State.STOPPING, created=True, stop_reason="enough")
STOP_SENT = Record("1.0.1", "one", State.STOPPING, created=True, stop_reason="enough", stop_sent=True)


@pytest.mark.parametrize(
    ("record", "stage", "do"),
    [
        (ORDERED, None, AttemptAction.MAKE),
        (MADE, None, AttemptAction.END),
        (MADE, Stage.CREATED, AttemptAction.START),
        (MADE, Stage.RUNNING, AttemptAction.REST),
        (MADE, Stage.EXITED, AttemptAction.END),
        (STOPPING, None, AttemptAction.END),
        (STOPPING, Stage.CREATED, AttemptAction.END),
        (STOPPING, Stage.RUNNING, AttemptAction.STOP),
        (STOPPING, Stage.EXITED, AttemptAction.END),
        (Record("1.0.1", "one", State.ENDED), Stage.RUNNING, AttemptAction.REPORT),
    ],
)
def test_the_next_step(record: Record, stage: Stage | None, do: AttemptAction) -> None:
    assert decide(record, None if stage is None else Seen(stage)).action is do


def test_an_end_before_our_stop_is_the_containers_own() -> None:
    assert decide(STOPPING, Seen(Stage.EXITED, exit_code=3)).exit_code == 3
    assert decide(STOP_SENT, Seen(Stage.EXITED, exit_code=143)).exit_code is None


@given(
    state=st.sampled_from(State),
    created=st.booleans(),
    stop_sent=st.booleans(),
    stage=st.sampled_from([None, *Stage]),
    exit_code=st.integers(0, 255),
)
def test_nothing_that_may_have_run_is_ever_started(
    state: State, created: bool, stop_sent: bool, stage: Stage | None, exit_code: int
) -> None:
    record = Record("1.0.1", "one", state, created=created, stop_sent=stop_sent)
    step = decide(record, None if stage is None else Seen(stage, exit_code=exit_code))
    if step.action is AttemptAction.START:
        assert (state, stage) == (State.ORDERED, Stage.CREATED)
    if step.action is AttemptAction.MAKE:
        assert (state, stage, created) == (State.ORDERED, None, False)


@pytest.mark.parametrize(("exit_code", "told"), [(127, 127), (126, 126), (128, None), (0, None)])
def test_only_the_command_is_to_blame_for_a_command_that_is_not_there(exit_code: int, told: int | None) -> None:
    step = decide(MADE, Seen(Stage.UNSTARTABLE, exit_code=exit_code, error="no such thing"))
    assert (step.action, step.exit_code, step.ran) == (AttemptAction.END, told, False)
    assert "no such thing" in step.reason


def test_how_it_ended_is_said_in_words() -> None:
    assert how_it_ended(Seen(Stage.EXITED, exit_code=0)) == "exit status 0"
    assert how_it_ended(Seen(Stage.EXITED, exit_code=137)) == "exit status 137 (SIGKILL)"
    killed = Seen(Stage.EXITED, exit_code=137, out_of_memory=True, memory_limit_bytes=2**30)
    words = "out of memory (its limit is 1GiB): killed with exit status 137; raise limits.memory, or use less"
    assert how_it_ended(killed) == words


def test_a_kill_under_a_memory_limit_is_put_down_to_memory_though_the_engine_does_not_say_so() -> None:
    words = how_it_ended(Seen(Stage.EXITED, exit_code=137, memory_limit_bytes=2**30))
    assert words.startswith("out of memory (its limit is 1GiB), most likely: killed with exit status 137")
    assert FAILURES.cause(words) is FailureCause.WORKLOAD
    assert how_it_ended(Seen(Stage.EXITED, exit_code=143, memory_limit_bytes=2**30)) == "exit status 143 (SIGTERM)"


def test_a_container_is_read_from_what_the_engine_says() -> None:
    seen = seen_in(
        {
            "State": {"Running": True, "StartedAt": "2026-01-02T03:04:05.123456789Z", "ExitCode": 0, "Error": ""},
            "Config": {"Labels": {"dovetail.grace_s": "3", "dovetail.run_for_s": "1.5"}},
            "HostConfig": {"Memory": 64},
        }
    )
    assert (seen.stage, seen.grace_s, seen.run_for_s, seen.memory_limit_bytes) == (Stage.RUNNING, 3, 1.5, 64)
    never = {"State": {"StartedAt": "0001-01-01T00:00:00Z", "ExitCode": 127}, "Config": {"Labels": None}}
    assert seen_in(never).stage is Stage.UNSTARTABLE


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("1970-01-01T01:00:01.250000000+01:00", 1.25),
        ("0001-01-01T00:00:00Z", None),
        ("", None),
    ],
)
def test_times_are_read_as_go_writes_them(text: str, seconds: float | None) -> None:
    assert moment(text) == seconds
