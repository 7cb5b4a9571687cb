"""Machines that run their jobs by cloud-init alone keep the promises of every backend."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machines.job_machines import JobProvider, job_provider, job_subject


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[JobProvider]:
    found = job_provider(tmp_path / "machines")
    yield found
    found.close_all()


class TestCloudInitBackend(BackendConformance):
    """Its machines exist in memory, and run their user data."""

    @pytest.fixture
    def subject(self, provider: JobProvider, tmp_path: Path) -> Subject:
        return job_subject(provider, tmp_path)
