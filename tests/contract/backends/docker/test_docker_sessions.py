"""Commands next to containers, with pipes and with a terminal; containers that users attach to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import Rig, Subject
from tests.contract.backends.docker.rig import Hosts, docker_subject, tls_of
from tests.contract.backends.docker.test_docker_over_ssh import LOGIN_S, host_over
from tests.contract.backends.sessions import Attaching, Executing, beside
from tests.contract.backends.timed_logs import SinceATime
from tests.servers.daemon import skip_without
from tests.servers.ssh import SshServer, ssh_server

from dovetail.backends.contract import Assignment, ExecutingBackend

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


class TestDockerSessionsOverASocket(Executing, Attaching, SinceATime):
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts) -> Subject:
        return docker_subject(tmp_path, {"name": "one", "url": docker_servers[0].url})

    def test_what_the_engine_refuses_is_told_in_its_words(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, ExecutingBackend)
            said = [one async for one in rig.backend.execute(work.key, ["no-such-program"])]
            assert b"no-such-program" in b"".join(one for one in said if isinstance(one, bytes))
            assert said[-1] in (126, 127)

        beside(subject, scene)


class TestDockerSessionsOverTls(Executing, Attaching):
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts) -> Subject:
        server = docker_servers[1]
        return docker_subject(tmp_path, {"name": "two", "url": server.tcp_url, "tls": tls_of(server)})


@pytest.fixture(scope="module")
def server() -> Iterator[SshServer]:
    skip_without("docker")
    with ssh_server() as server:
        yield server


class TestDockerSessionsOverSsh:
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts, server: SshServer) -> Subject:
        server.set_environment({"DOCKER_HOST": docker_servers[0].url})
        return docker_subject(tmp_path, host_over(server), answer_within_s=LOGIN_S)

    test_input = Executing.test_a_command_answers_while_it_is_typed_and_hears_that_there_is_no_more
