"""The PBS backend does what every backend must, in the dialect of Torque: with Slurm's commands over a real Slurm."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.pbs.torque_rig import with_bad_commands
from tests.servers.slurm import SlurmServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]


class TestTorqueDialect(BackendConformance):
    @pytest.fixture
    def subject(self, slurm_server: SlurmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
        monkeypatch.setenv("SLURM_CONF", str(slurm_server.settings))
        return with_bad_commands(slurm_server, tmp_path, lambda path: monkeypatch.setenv("PATH", path))
