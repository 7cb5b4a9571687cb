"""One node, and one line to the API server, for all tests here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.backends.kubernetes.rig import Line
    from tests.servers.kubelet import Kubelet
    from tests.servers.kubernetes.server import KubeServer


@pytest.fixture(scope="module")
def kubelet(kube_server: "KubeServer") -> Iterator["Kubelet"]:
    from tests.servers.kubelet import kubelet

    with kubelet(kube_server, "runs-pods") as node:
        yield node


@pytest.fixture(scope="module")
def line(kube_server: "KubeServer") -> Iterator["Line"]:
    """With a namespace of its own at the other end."""
    from tests.contract.backends.kubernetes.rig import NAMESPACE, Line
    from tests.servers.kubelet import namespace

    with namespace(kube_server, NAMESPACE), Line(kube_server) as proxy:
        yield proxy
