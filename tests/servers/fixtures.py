"""Real servers as fixtures, for any test that names one: `kube_server`, `docker_servers`, `libvirt_servers`, …

Each is started when the first test asks for it, shared by all tests of its worker and stopped at the end of the run,
whatever happened. Where the programs are not installed the test is skipped with one line that says which. A test that
kills or fills a server leaves it as it would like to find it; one that needs a server of its own, or other options,
uses the context managers in the modules beside this one.

With several workers each would start its own. Tests of one server therefore share an `xdist_group` named for it
(`kubernetes`, `docker`, `libvirt`, `slurm`, `openpbs`, `moto`), which keeps them on one worker; see `pytestmark` in the
tests beside this file.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

# Every test run loads this module; what starts servers is imported by the runs that start one.
if TYPE_CHECKING:
    from tests.servers.docker import DockerServer
    from tests.servers.kubernetes.server import KubeServer
    from tests.servers.libvirt import LibvirtServer
    from tests.servers.moto import MotoServer
    from tests.servers.openpbs.server import OpenPbsStandIn
    from tests.servers.slurm import SlurmServer


@pytest.fixture(scope="session")
def kube_server() -> Iterator["KubeServer"]:
    """One API server; nodes are everybody's, so tests name theirs apart and remove them. The administrator may do
    everything, `nobody` what a test grants."""
    from tests.servers.kubernetes.server import kube_server

    with kube_server(authorization="RBAC") as server:
        yield server


@pytest.fixture(scope="session")
def docker_servers() -> Iterator[tuple["DockerServer", "DockerServer"]]:
    """Two hosts; the second also listens on TCP with TLS."""
    from tests.servers.docker import docker_server

    with docker_server() as first, docker_server(tls=True) as second:
        yield first, second


@pytest.fixture(scope="session")
def libvirt_servers() -> Iterator[tuple["LibvirtServer", "LibvirtServer"]]:
    """Two hypervisors with one storage pool; the second also listens with TLS."""
    from tests.servers.libvirt import libvirt_hosts

    with libvirt_hosts("hv1", "hv2") as (first, second):
        yield first, second


@pytest.fixture(scope="session")
def slurm_server() -> Iterator["SlurmServer"]:
    """One cluster of four nodes."""
    from tests.servers.slurm import slurm_server

    with slurm_server() as server:
        yield server


@pytest.fixture(scope="session")
def openpbs() -> Iterator["OpenPbsStandIn"]:
    """A stand-in for OpenPBS with four vnodes."""
    from tests.servers.openpbs.server import openpbs_stand_in

    with openpbs_stand_in() as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator["MotoServer"]:
    """AWS in memory; a test resets it before it begins."""
    from tests.servers.moto import moto_server

    with moto_server() as server:
        yield server
