"""A node with an agent keeps the promises of every backend: real processes, real HTTP, faults on the way."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.agent.rig import agent_line
from tests.contract.backends.conformance import BackendConformance, Subject

pytestmark = pytest.mark.xdist_group("agent")


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with agent_line(tmp_path_factory.mktemp("agent")) as subject:
        yield subject


class TestNodeWithAgent(BackendConformance):
    @pytest.fixture
    def subject(self, line: Subject, tmp_path: Path) -> Subject:
        return line
