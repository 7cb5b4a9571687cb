"""What all tests of the dashboard share: a browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.servers.browser import browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """For one module: as long as it runs, its thread has an event loop, which other tests would trip over."""
    with browser() as started:
        yield started
