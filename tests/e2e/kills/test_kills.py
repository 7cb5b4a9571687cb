"""Whatever is done to a server under load loses nothing, runs nothing twice and starts nothing that was cancelled.

Two dozen faults; `make soak ARGS="--minutes 30 --only kills"` has more than a thousand.
"""

from pathlib import Path

import pytest
from tests.e2e.kills.faults import step_back
from tests.e2e.kills.harness import KillRun
from tests.e2e.server_process import ServerProcess

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

FAULTS = 24


@pytest.mark.slow
def test_faults_at_random_moments_lose_nothing_and_run_nothing_twice(tmp_path: Path) -> None:
    report = KillRun(tmp_path, seed=20261115, pause_s=0.25).run(lambda so_far: so_far.faults.total() >= FAULTS)
    assert not report.wrong, report
    assert report.began >= FAULTS, f"too little ran for the faults to matter\n{report}"
    assert report.cancelled, report


def test_a_database_of_the_version_before_is_upgraded_with_all_that_is_in_it(tmp_path: Path) -> None:
    """What the faults while migrating rely on."""
    server = ServerProcess(tmp_path, {"backends": {}})
    with server, Client(server.url) as client:
        client.submit({"name": "kept", "resources": {"cpu": 1}})
        server.kill()
        step_back(server.data / "dovetail.db")
        server.start()
        assert client.workload("kept")["state"] == "pending"
        assert client.health()["status"] == "ok"
