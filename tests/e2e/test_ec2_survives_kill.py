"""Killed around launches, the control plane leaves no orphan and no second instance. The soak has longer runs."""

from pathlib import Path

import pytest
from tests.e2e.cloud_kills import kill_around_launches
from tests.servers.aws_faults import aws_faults
from tests.servers.moto import MotoServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("moto")]
KILLS = 8


def test_kills_around_launches_leave_no_orphan_and_no_second_instance(moto: MotoServer, tmp_path: Path) -> None:
    moto.reset()
    with aws_faults(moto.url) as faults:
        audit = kill_around_launches(moto, faults, tmp_path, KILLS, seed=11)
    assert audit.kills == KILLS
    assert audit.launched >= KILLS // 2
    assert audit.wrong == []
