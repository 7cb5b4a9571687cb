"""Hosts behind SSH: everything but the encryption is real.

No SSH server is started here. A stand-in for the program `ssh` takes the same arguments and runs the same command
(`docker system dial-stdio`) on this machine, so that the relay, its processes and the joined streams are the real ones.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Subject, run_async, started
from tests.contract.backends.docker.rig import Hosts, docker_subject
from tests.servers.daemon import skip_without
from tests.servers.docker import DockerServer

from dovetail.model.event import NodeHealthChanged
from dovetail.testing.lifecycle import Lifecycle

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]

STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
while [ "$1" != "--" ]; do shift; done
[ "$2" = closed ] && { echo "Permission denied (publickey)." >&2; exit 255; }
shift 2
DOCKER_HOST="{host}" exec "$@"
"""


@pytest.fixture
def make(tmp_path: Path, docker_servers: Hosts) -> Callable[[str], Subject]:
    skip_without("docker")

    def made(url: str) -> Subject:
        return docker_subject(tmp_path, host_over(tmp_path, docker_servers[0], url))

    return made


def host_over(folder: Path, server: DockerServer, url: str) -> dict[str, Any]:
    program = folder / "ssh"
    program.write_text(STAND_IN.replace("{log}", str(folder / "ssh.log")).replace("{host}", server.url))
    program.chmod(0o755)
    return {"name": "far", "url": url, "ssh": {"program": str(program), "identity": "/keys/dovetail"}}


class TestDockerOverSsh(Lifecycle):
    @pytest.fixture
    def subject(self, make: Callable[[str], Subject]) -> Subject:
        return make("ssh://ops@open:2222")


def test_ssh_is_called_as_the_settings_say(make: Callable[[str], Subject], tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(make("ssh://ops@open:2222")) as rig:
            assert [node.name for node in rig.ear.nodes] == ["far"]

    run_async(scene)
    calls = (tmp_path / "ssh.log").read_text().splitlines()
    assert all("-i /keys/dovetail" in call for call in calls)
    assert all(call.endswith("-p 2222 -l ops -- open docker system dial-stdio") for call in calls)


def test_what_ssh_complains_of_is_why_the_host_is_offline(make: Callable[[str], Subject]) -> None:
    async def scene() -> None:
        async with started(make("ssh://closed")) as rig:
            (event,) = [event for event in rig.ear.heard if isinstance(event, NodeHealthChanged)]
            assert "Permission denied (publickey)" in event.reason

    run_async(scene)
