"""EC2 keeps the promises of every backend: through boto3 and HTTP, against moto."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.ec2.rig import Cloud, provider_for
from tests.contract.backends.machines.room import MachineRoom, subject_in_room
from tests.servers.moto import MotoServer

from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = pytest.mark.xdist_group("moto")


class TestEc2Backend(BackendConformance):
    @pytest.fixture
    def subject(self, moto: MotoServer, tmp_path: Path) -> Iterator[Subject]:
        moto.reset()
        with LossyProxy(moto.address) as proxy:
            room = MachineRoom(Cloud(moto).running, look_s=0.1)
            yield subject_in_room(lambda: provider_for(f"http://{proxy.address}"), room, tmp_path, proxy.break_calls)
