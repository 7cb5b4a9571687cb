"""The Slurm backend does what every backend must, with both ways of asking a real Slurm."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.slurm.rig import over_a_bad_network, with_bad_commands
from tests.servers.slurm import SlurmServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]


class TestSlurmOverRest(BackendConformance):
    @pytest.fixture
    def subject(self, slurm_server: SlurmServer, tmp_path: Path) -> Iterator[Subject]:
        with over_a_bad_network(slurm_server, tmp_path) as subject:
            yield subject


class TestSlurmByItsCommands(BackendConformance):
    @pytest.fixture
    def subject(self, slurm_server: SlurmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
        return with_bad_commands(slurm_server, tmp_path, lambda path: monkeypatch.setenv("PATH", path))
