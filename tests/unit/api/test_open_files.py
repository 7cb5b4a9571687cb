"""Connections of a server, as many as its account may open."""

import resource
from collections.abc import Iterator

import pytest

from dovetail.api.protocol.connections import FILES, within_open_files
from dovetail.control.settings import RequestLimits


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_is_raised_for_the_connections_of_the_settings() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    assert within_open_files(RequestLimits(max_connections=2000)).max_connections == 2000
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 2000 + FILES


def test_where_the_account_may_not_open_so_many_there_are_fewer_connections() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this account may open any number of files")
    assert within_open_files(RequestLimits(max_connections=hard)).max_connections == hard - FILES
