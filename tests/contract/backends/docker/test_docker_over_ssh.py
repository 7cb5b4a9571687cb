"""Hosts behind SSH, through a real server with a key of its own that is checked: the whole contract, and its troubles.

On the host's side every connection is `docker system dial-stdio`, which finds the engine by DOCKER_HOST. What is to be
lost on the way is lost behind it, where a proxy can see what is asked.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.contract.backends.conformance import LONG_S, Subject, run_async, started
from tests.contract.backends.docker.rig import NUMBERS, Hosts, docker_subject, said_offline, shell, with_hooks
from tests.examples import in_soak
from tests.servers.daemon import skip_without
from tests.servers.ssh import SshServer, ssh_server

from dovetail.model.event import NodeHealthChanged, TaskStarted
from dovetail.testing.lifecycle import Lifecycle
from dovetail.testing.lossy_proxy import LossyProxy
from dovetail.testing.races import Races
from dovetail.testing.restart import Restart
from dovetail.testing.rig import Conformance
from dovetail.testing.trouble import Trouble
from dovetail.testing.truth import Truth

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]
LOGIN_S = "25s"  # on a busy machine a login takes its time


@pytest.fixture(scope="module")
def server() -> Iterator[SshServer]:
    skip_without("docker")
    with ssh_server() as server:
        yield server


def host_over(server: SshServer, **ssh: Any) -> dict[str, Any]:
    given = {"identity": str(server.identity), "known_hosts": str(server.known_hosts)} | ssh
    return {"name": "far", "url": f"ssh://{server.address}", "ssh": given}


class OverSsh(Conformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts, server: SshServer) -> Iterator[Subject]:
        with LossyProxy(str(docker_servers[0].socket)) as proxy:
            server.set_environment({"DOCKER_HOST": f"unix://{proxy.address}"})
            subject = docker_subject(tmp_path, host_over(server), answer_within_s=LOGIN_S)
            yield with_hooks(subject, docker_servers[0], proxy)


class TestDockerOverSsh(OverSsh, Lifecycle):
    """From a bind to an end."""


@pytest.mark.slow
class TestDockerOverSshInTrouble(OverSsh, Restart, Trouble):
    """What connections have to do with. Every one of them is a login, so this takes its time."""


if in_soak():

    class TestDockerOverSshAtLength(OverSsh, Truth, Races):
        """The rest of the contract, which `make test` tests over a socket and over TLS."""


def test_what_runs_when_the_connection_breaks_runs_on_and_is_heard_of_again(
    tmp_path: Path, docker_servers: Hosts, server: SshServer
) -> None:
    server.set_environment({"DOCKER_HOST": docker_servers[0].url})
    subject = docker_subject(tmp_path, host_over(server), look_interval_s="1s")

    async def scene() -> None:
        async with started(subject) as rig:
            works = [rig.assignment(next(NUMBERS), shell(script)) for script in (f"echo hi; sleep {LONG_S}", "sleep 2")]
            for work in works:
                await rig.backend.bind(work)
                await rig.reports.until(TaskStarted, work.key)
            server.kill()
            await rig.reports.until_true(lambda: said_offline(rig, "far"), "the host to be offline")
            server.start()
            assert (await rig.finished(works[1].key)).exit_code == 0  # it ended while nobody could hear it, or later
            await rig.reports.until_true(lambda: not said_offline(rig, "far"), "the host to be back")
            assert (await rig.backend.logs(works[0].key, 0, 100)).text == "hi\n"
            await rig.backend.stop(works[0].key, "enough")
            assert (await rig.finished(works[0].key)).exit_code is None

    try:
        run_async(scene)
    finally:
        if not server.daemon.alive:
            server.start()


def test_no_ssh_process_outlives_the_backend(tmp_path: Path, docker_servers: Hosts, server: SshServer) -> None:
    server.set_environment({"DOCKER_HOST": docker_servers[0].url})

    def ours() -> list[psutil.Process]:
        return [child for child in psutil.Process().children() if child.name() == "ssh"]

    async def scene() -> None:
        async with started(docker_subject(tmp_path, host_over(server), answer_within_s=LOGIN_S)) as rig:
            assert [node.name for node in rig.reports.nodes] == ["far"]
            assert ours()
        assert not ours()

    run_async(scene)


@pytest.mark.parametrize("wrong", ["key", "host key"])
def test_what_ssh_complains_of_is_why_the_host_is_offline(tmp_path: Path, server: SshServer, wrong: str) -> None:
    if wrong == "key":
        host, words = host_over(server, identity=str(server.stranger)), "Permission denied (publickey)"
    else:
        nobody = tmp_path / "known_hosts"
        nobody.touch()
        host, words = host_over(server, known_hosts=str(nobody)), "Host key verification failed"

    async def scene() -> None:
        async with started(docker_subject(tmp_path, host)) as rig:
            (event,) = rig.reports.of(NodeHealthChanged)
            assert words in event.reason

    run_async(scene)
