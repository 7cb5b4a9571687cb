"""How the end of a job's command is told."""

import pytest

from dovetail.backends.batch.ends import How, Result, end_of_result


@pytest.mark.parametrize(
    ("result", "stop_reason", "exit_code", "reason"),
    [
        (Result(143, How.STOPPED), "enough", None, "stopped: enough"),
        (Result(143, How.ENDED), "enough", None, "stopped: enough"),  # the signal reached the command first
        (Result(143, How.ENDED), None, 143, "killed by signal 15"),
        (Result(3, How.ENDED), "enough", 3, "exited with status 3"),  # it was faster
        (Result(143, How.TIMEOUT), "enough", 124, "stopped: it ran longer than its time limit"),
    ],
)
def test_a_command_that_a_signal_ends_after_a_stop_was_stopped(
    result: Result, stop_reason: str | None, exit_code: int | None, reason: str
) -> None:
    end = end_of_result(result, stop_reason)
    assert (end.exit_code, end.reason) == (exit_code, reason)
