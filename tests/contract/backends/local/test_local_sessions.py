"""Commands next to tasks of this machine, with pipes and with a terminal; tasks that users attach to."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import Subject
from tests.contract.backends.local.rig import local_subject
from tests.contract.backends.sessions import Attaching, Executing


class TestLocalSessions(Executing, Attaching):
    @pytest.fixture
    def subject(self, tmp_path: Path, cgroup_parent: str) -> Subject:
        return local_subject(tmp_path, "auto", cgroup_parent)
