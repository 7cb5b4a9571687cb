"""A server that is killed loses no policy, no version, and nothing of what is adjusted."""

from pathlib import Path

import pytest
from tests.e2e.server_process import ServerProcess

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

GROUPS = [{"prefix": "n", "count": 4, "capacity": {"cpu": 8, "memory": "32GB"}}]
SETTINGS = {"backends": {"sim": {"kind": "simulated", "forever": True, "groups": GROUPS}}}
RULE = {"when": "cluster.nodes > 3", "until": "cluster.nodes < 2", "off": True}


def test_what_was_answered_is_there_after_kill_nine(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, SETTINGS)
    with server, Client(server.url) as client:
        client.set_policy({"name": "kept", "prefer": 'node.name == "n-1"', "adjust": [RULE]}, by="ada")
        client.set_policy({"name": "gone", "require": "true"})
        client.remove_policy("gone")
        before = client.attach_policy("kept", namespaces=["*"])
        assert before["in_force"][0]["demand"] == "off"
        server.kill()
        server.start()
        after = client.policy("kept")
        assert after == {name: before[name] for name in after}  # type: ignore[literal-required]
        assert [row["version"] for row in client.policy_versions("kept")] == [2, 1]
        assert [policy["name"] for policy in client.policies()] == ["kept"]
        assert client.set_policy({"name": "gone", "require": "true"})["version"] == 3
