"""Tests of one server run on one worker, so that the server starts once.

Pytest-xdist marks a test's id with its group. A version of pytest with which that fails would start each server on
every worker, and nothing else would tell.
"""

import pytest


@pytest.mark.xdist_group("a group")
def test_a_worker_knows_the_group_of_a_test(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@a group")


@pytest.fixture(scope="module")
def shared() -> str:
    return "made once"


def test_tests_that_share_a_fixture_of_their_file_are_a_group(shared: str, request: pytest.FixtureRequest) -> None:
    group = request.node.get_closest_marker("xdist_group")
    assert group is not None
    assert group.args == ("tests/unit/repository/test_groups_stay_together.py",)
