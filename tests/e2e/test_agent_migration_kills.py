"""Whoever is killed around a live migration between agents, the VM runs once, and everybody knows where."""

from pathlib import Path

import pytest
from tests.contract.backends.libvirt.rig import Hosts
from tests.e2e.agent_migration_kills import AgentMigrationKills
from tests.e2e.migrating_agents import migrating_agents

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.mark.slow
def test_a_vm_survives_kills_of_server_and_agents_around_its_migrations(tmp_path: Path, libvirt_servers: Hosts) -> None:
    with migrating_agents(tmp_path, libvirt_servers) as rig:
        audit = AgentMigrationKills(rig, seed=11).run(6)
    assert not audit.wrong
    assert audit.amid, "some kills came while it was not known where it is"
