"""The Kubernetes backend does what every backend must, against a real API server and processes that really run."""

from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.kubernetes.rig import Line, kubernetes_subject
from tests.servers.kubelet import Kubelet

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


class TestKubernetesBackend(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, line: Line, kubelet: Kubelet) -> Subject:
        return kubernetes_subject(tmp_path, line, kubelet)
