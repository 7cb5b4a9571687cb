"""Containers of a node with an agent keep the promises too: a real engine beside the agent, faults on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.agent.rig import agent_with_engine
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.docker.rig import Hosts

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, docker_servers: Hosts) -> Iterator[Subject]:
    with agent_with_engine(tmp_path_factory.mktemp("agent"), docker_servers[0]) as subject:
        yield subject


class TestContainersOfANodeWithAgent(BackendConformance):
    @pytest.fixture
    def subject(self, engine: Subject, tmp_path: Path) -> Subject:
        return engine
