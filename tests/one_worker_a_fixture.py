"""Tests that share what a fixture of their file makes run in one worker, which makes it once.

Pytest-xdist gives the tests of a file to all workers, and each would make it for itself: five thousand workloads, or a
server that a hundred tests ask. A file that names its group by itself (`xdist_group`) keeps that. Fixtures that only
change a constant cost nothing (`tests/property/conftest.py`), and their tests take long: they stay apart.
"""

import pytest

APART = ("tests/property/",)


def pytest_itemcollected(item: pytest.Item) -> None:
    file = item.nodeid.partition("::")[0]
    if file.startswith(APART) or item.get_closest_marker("xdist_group") is not None:
        return
    if isinstance(item, pytest.Function) and shares_a_fixture(item):
        item.add_marker(pytest.mark.xdist_group(file))


def shares_a_fixture(item: pytest.Function) -> bool:
    return any(found[-1].scope == "module" for found in item._fixtureinfo.name2fixturedefs.values() if found)
