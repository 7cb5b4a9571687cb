"""One real server for each file of tests, and a way to speak to it."""

from collections.abc import Iterator

import httpx
import pytest
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, serving, settings_in


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    limits = {"max_body": "1MiB", "max_batch": 600, "max_replicas": 10_000, "max_streams": 8}
    with serving(settings_in(tmp_path_factory.mktemp("data"), limits=limits)) as found:
        yield found


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(auth=OWN_TOKEN, base_url=url + API, timeout=60, trust_env=False, verify=False) as client:
        yield client
