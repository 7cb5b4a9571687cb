"""Control planes die at any moment; what they called runs once all the same."""

import sys
from pathlib import Path

import pytest
from tests.contract.backends.aws_lambda import control_plane
from tests.contract.backends.aws_lambda.rig import TABLE, lambda_subject
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.killed_control_plane import assert_each_ran_once, live_and_die
from tests.servers.ministack import Ministack

from dovetail.backends.contract import Refusal
from dovetail.backends.serverless.journal import CallJournal

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("lambda")]
KEPT = {"name": "kept", "table": TABLE, "concurrency": 100}


@pytest.mark.slow
def test_a_control_plane_killed_at_random_moments_runs_every_call_exactly_once(
    tmp_path: Path, ministack: Ministack
) -> None:
    attempts = 15
    program = [sys.executable, "-m", control_plane.__name__, str(tmp_path), str(attempts), ministack.url]
    live_and_die(program, 8, (0.3, 1.5))
    assert_each_ran_once(tmp_path / "starts", tmp_path, attempts)


@pytest.mark.parametrize("how", ["bind", "reconcile"])
@pytest.mark.parametrize("sent", [False, True])
def test_a_call_that_was_ordered_and_perhaps_not_sent_is_made_by(
    tmp_path: Path, ministack: Ministack, how: str, sent: bool
) -> None:
    """What a control plane leaves that was killed after it wrote that it sends the call, and before it did."""
    subject = lambda_subject(tmp_path, KEPT, ministack.url)

    async def scene() -> None:
        journal = CallJournal(tmp_path / "backend")
        await journal.open(None)
        await journal.order("1.0.1", "kept")
        if sent:
            await journal.sent("1.0.1")
        await journal.close()
        async with started(subject) as rig:
            work = rig.work(1, 0.0, 8)
            await (rig.backend.bind(work) if how == "bind" else rig.backend.reconcile([work]))
            assert (await rig.finished(work.key)).exit_code == 8
            rig.assert_run_once(work.key)

    run_async(scene)


def test_a_stopped_key_is_refused_after_a_restart_as_well(tmp_path: Path, ministack: Ministack) -> None:
    subject = lambda_subject(tmp_path, KEPT, ministack.url)

    async def scene() -> None:
        async with started(subject) as rig:
            await rig.backend.stop("1.0.1", "never mind")
            await rig.finished("1.0.1")
        async with started(subject) as rig:
            with pytest.raises(Refusal, match="never mind"):
                await rig.backend.bind(rig.work(1))
            rig.assert_never_run("1.0.1")

    run_async(scene)
