"""The local backend does what every backend must, with each way of enforcing limits this machine has."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.local.rig import local_subject


class TestLocalBackend(BackendConformance):
    @pytest.fixture(params=["auto", "rlimit"])
    def subject(self, tmp_path: Path, request: pytest.FixtureRequest, cgroup_parent: str) -> Subject:
        return local_subject(tmp_path, request.param, cgroup_parent)
