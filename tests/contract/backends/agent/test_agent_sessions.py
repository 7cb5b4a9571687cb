"""Commands next to tasks of a node with an agent, and attached tasks: with input, terminals and exit codes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.agent.rig import agent_line
from tests.contract.backends.conformance import Subject
from tests.contract.backends.sessions import Attaching, Executing

pytestmark = pytest.mark.xdist_group("agent")


class TestSessionsOfANodeWithAgent(Executing, Attaching):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> Iterator[Subject]:
        with agent_line(tmp_path) as found:
            yield found
