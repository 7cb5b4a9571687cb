"""These tests make their databases by going through all revisions, as users do."""

from collections.abc import Iterator

import pytest
from tests.servers.fresh_databases import migrate_anew, use_copies


@pytest.fixture(autouse=True)
def migrated_anew() -> Iterator[None]:
    migrate_anew()
    yield
    use_copies()
