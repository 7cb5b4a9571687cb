"""The PBS backend does what every backend must, in the dialect of OpenPBS, over a stand-in that runs real jobs."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.pbs.openpbs_rig import with_bad_commands
from tests.servers.openpbs.server import OpenPbsStandIn

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("openpbs")]


class TestOpenPbsDialect(BackendConformance):
    @pytest.fixture
    def subject(self, openpbs: OpenPbsStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
        return with_bad_commands(openpbs, tmp_path, lambda path: monkeypatch.setenv("PATH", path))
