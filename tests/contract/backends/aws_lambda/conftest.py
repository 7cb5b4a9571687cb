"""One emulator for all tests of Lambda, with their functions."""

from collections.abc import Iterator

import pytest
from tests.contract.backends.aws_lambda.rig import deploy
from tests.servers.ministack import Ministack, ministack_server


@pytest.fixture(scope="session")
def ministack() -> Iterator[Ministack]:
    with ministack_server() as server:
        deploy(server)
        yield server
