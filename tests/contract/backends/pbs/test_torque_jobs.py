"""Gangs, nodes and ssh in the dialect of Torque, with Slurm's commands over a real Slurm."""

import os
from pathlib import Path

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import run_async, started
from tests.contract.backends.pbs.torque_rig import torque_subject
from tests.servers.slurm import SlurmServer

from dovetail.backends.contract import Assignment
from dovetail.backends.pbs.check import check_commands
from dovetail.backends.pbs.driver import PbsDriver
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.pbs.torque import Torque
from dovetail.model.command import GangStart
from dovetail.model.event import NodeCordoned

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("slurm")]
SSH = """\
#!/bin/sh
# A program in the place of ssh: whatever host it is told, that is this one.
while [ "$1" != -- ]; do shift; done
echo "$2" >> {folder}/hosts
shift 2
PATH={path} SLURM_CONF={conf} exec sh -c "$*"
"""


def test_a_gang_is_jobs_that_wait_for_each_other(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(torque_subject(slurm_server, tmp_path, conf=str(slurm_server.settings))) as rig:
            spec = shell("exit $DOVETAIL_REPLICA", replicas=2, gang={"min": 2})
            works = replicas(9701, spec, {0: "n1", 1: "n2"})
            gang = GangStart(works[0].key, len(works))
            await bind_all(rig, [Assignment(work.key, work.task, work.node, spec, gang=gang) for work in works])
            assert [(await rig.finished(work.key)).exit_code for work in works] == [0, 1]

    run_async(scene)


def test_nodes_and_their_states(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(torque_subject(slurm_server, tmp_path, conf=str(slurm_server.settings))) as rig:
            nodes = {node.name: node for node in await rig.backend.nodes()}
            assert sorted(nodes) == ["n1", "n2", "n3", "n4"]
            assert nodes["n1"].labels["pbs.property/fast"] == "true"
            assert (nodes["n3"].capacity.cpu, nodes["n3"].capacity.gpu) == (4, 2)
            slurm_server.call("scontrol", "update", "nodename=n4", "state=drain", "reason=fan")
            try:
                await rig.reports.until_true(
                    lambda: cordoned(rig.reports.of(NodeCordoned)) == [True], "the drain of n4"
                )
            finally:
                slurm_server.call("scontrol", "update", "nodename=n4", "state=resume")
            await rig.reports.until_true(lambda: cordoned(rig.reports.of(NodeCordoned)) == [True, False], "its end")

    def cordoned(events: list[NodeCordoned]) -> list[bool]:
        return [event.cordoned for event in events if event.name == "n4"]

    run_async(scene)


def test_commands_on_another_host(slurm_server: SlurmServer, tmp_path: Path) -> None:
    """Every word arrives there as it was written here, and scripts over the standard input."""
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(folder=tmp_path, path=os.environ["PATH"], conf=slurm_server.settings))
    ssh.chmod(0o755)
    fields = {"url": "ssh://ops@head", "ssh": {"program": str(ssh)}}

    async def scene() -> None:
        async with started(torque_subject(slurm_server, tmp_path, **fields)) as rig:
            work = await rig.bind_new(0.1, 6, "over there")
            assert (await rig.finished(work.key)).exit_code == 6
            assert (await rig.backend.logs(work.key, 0, 100)).text == "over there"
        assert set((tmp_path / "hosts").read_text().split()) == {"head"}

    run_async(scene)
    check_commands(PbsSettings.model_validate(fields))


def test_the_dialect_is_found_by_asking(slurm_server: SlurmServer, tmp_path: Path) -> None:
    async def scene() -> None:
        torque_subject(slurm_server, tmp_path)
        driver = PbsDriver(PbsSettings(conf=str(slurm_server.settings)))
        assert isinstance(await driver.dialect(), Torque)

    run_async(scene)
