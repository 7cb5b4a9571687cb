"""One server for all attempts to escape as root, one as an ordinary user."""

from collections.abc import Iterator

import pytest
from tests.contract.backends.local.escapes.prison import Prison, start


@pytest.fixture(scope="session")
def root_prison(cgroup_parent: str) -> Iterator[Prison]:
    prison = start(root=True)
    yield prison
    prison.stop()


@pytest.fixture(scope="session")
def ordinary_prison() -> Iterator[Prison]:
    prison = start(root=False)
    yield prison
    prison.stop()


@pytest.fixture(params=["root, cgroups", "root, rlimits", "ordinary user"])
def cell(request: pytest.FixtureRequest) -> tuple[Prison, str]:
    """A server, and the backend on which a job runs."""
    who, _, what = request.param.partition(", ")
    prison: Prison = request.getfixturevalue("root_prison" if who == "root" else "ordinary_prison")
    return prison, "plain" if what == "rlimits" else "local"
