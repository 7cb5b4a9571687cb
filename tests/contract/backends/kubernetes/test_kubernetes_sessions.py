"""Commands next to pods and attached pods, through a real API server, which passes them on to the node of the tests."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import Subject, run_async
from tests.contract.backends.kubernetes.rig import Line, kubernetes_subject
from tests.contract.backends.sessions import Attaching, Executing
from tests.contract.backends.timed_logs import SinceATime
from tests.servers.kubelet import Kubelet
from tests.servers.kubernetes.server import KubeServer

from dovetail.backends.contract import Refusal
from dovetail.backends.kubernetes.sessions import execute_in
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


class TestKubernetesSessions(Executing, Attaching, SinceATime):
    @pytest.fixture
    def subject(self, tmp_path: Path, line: Line, kubelet: Kubelet) -> Subject:
        return kubernetes_subject(tmp_path, line, kubelet)


def test_what_the_api_server_refuses_is_told_in_its_words(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with Api(read_kubeconfig([kube_server.kubeconfig])) as api:
            with pytest.raises(Refusal, match=r'the API server refused: .*pods "no-such-pod" not found'):
                await anext(execute_in(api, "default", "no-such-pod", ["ls"], None, None))

    run_async(scene)
