"""Tests of one server run on one worker, so that the server starts once.

Pytest-xdist marks a test's id with its group. A version of pytest with which that fails would start each server on
every worker, and nothing else would tell.
"""

import pytest


@pytest.mark.xdist_group("a group")
def test_a_worker_knows_the_group_of_a_test(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@a group")
