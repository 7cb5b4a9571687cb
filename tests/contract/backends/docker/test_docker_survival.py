"""Control planes die at any moment; what they ordered runs once all the same."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.docker import control_plane
from tests.contract.backends.docker.rig import Hosts, docker_subject
from tests.contract.backends.killed_control_plane import assert_each_ran_once, live_and_die

from dovetail.backends.attempt_journal import Journal
from dovetail.backends.contract import Refusal
from dovetail.model.event import NodeLeft, TaskFinished

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.mark.slow
def test_a_control_plane_killed_at_random_moments_runs_every_container_exactly_once(
    tmp_path: Path, docker_servers: Hosts
) -> None:
    attempts, urls = 40, [server.url for server in docker_servers]
    live_and_die([sys.executable, "-m", control_plane.__name__, str(tmp_path), str(attempts), *urls], 10, (0.2, 1.2))
    assert_each_ran_once(tmp_path / "starts" / "list", tmp_path, attempts)


@pytest.mark.parametrize("how", ["bind", "reconcile"])
def test_an_attempt_that_was_ordered_but_not_made_is_made_by(tmp_path: Path, docker_servers: Hosts, how: str) -> None:
    """What a control plane leaves that was killed after the order, or while an image was fetched."""
    subject = docker_subject(tmp_path, {"name": "one", "url": docker_servers[0].url})

    async def scene() -> None:
        journal = Journal(tmp_path / "backend")
        await journal.open(None)
        await journal.order("1.0.1", "one")
        await journal.close()
        async with started(subject) as rig:
            work = rig.work(1, 0.0, 8)
            if how == "bind":
                await rig.backend.bind(work)
            else:
                await rig.backend.reconcile([work])
            assert (await rig.finished(work.key)).exit_code == 8
            rig.assert_run_once(work.key)

    run_async(scene)


def test_a_stopped_key_is_refused_after_a_restart_as_well(tmp_path: Path, docker_servers: Hosts) -> None:
    subject = docker_subject(tmp_path, {"name": "one", "url": docker_servers[0].url})

    async def scene() -> None:
        async with started(subject) as rig:
            await rig.backend.stop("1.0.1", "never mind")
            await rig.finished("1.0.1")
        async with started(subject) as rig:
            with pytest.raises(Refusal, match="never mind"):
                await rig.backend.bind(rig.work(1))
            rig.assert_never_run("1.0.1")

    run_async(scene)


def test_what_ran_on_a_host_that_is_no_longer_in_the_settings_is_lost(tmp_path: Path, docker_servers: Hosts) -> None:
    first, second = docker_servers
    both = docker_subject(tmp_path, {"name": "one", "url": first.url}, {"name": "two", "url": second.url})
    fewer = docker_subject(tmp_path, {"name": "two", "url": second.url})

    async def scene() -> None:
        async with started(both) as rig:
            work = replace(rig.work(1, 0.1), node="one")
            await rig.backend.bind(work)
            await rig.finished(work.key)
            unheard = replace(rig.work(2, 30.0), node="one")
            await rig.backend.bind(unheard)
        async with started(fewer) as rig:
            assert [event.name for event in rig.reports.of(NodeLeft)] == ["one"]
            await rig.backend.reconcile([unheard])
            finished = await rig.finished(unheard.key)
            assert finished.exit_code is None
            assert "one is no longer" in finished.reason
            await rig.backend.stop(unheard.key, "enough")
            assert len(rig.reports.about(TaskFinished, unheard.key)) == 2
        async with started(fewer) as rig:
            assert not rig.reports.of(NodeLeft)  # it was said

    run_async(scene)
