"""Credentials that change are read anew, and those that cannot be had say why."""

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.credentials import CredentialsError, Plugin, TokenFile

PLUGIN = """
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
with open(sys.argv[1], "a") as log:
    log.write("asked\\n")
token = f"{os.environ['GREETING']}-{sum(1 for _ in open(sys.argv[1]))}-{info['spec'].get('cluster', {}).get('server')}"
status = {"token": token}
if len(sys.argv) > 2:
    status["expirationTimestamp"] = sys.argv[2]
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


def plugin(folder: Path, *arguments: str, **options: Any) -> Plugin:
    program = folder / "plugin.py"
    program.write_text(PLUGIN)
    command = [sys.executable, str(program), str(folder / "log"), *arguments]
    return Plugin(command, {"GREETING": "hello"}, "client.authentication.k8s.io/v1", **options)


def test_a_token_in_a_kubeconfig_is_read_again_when_it_was_rejected(tmp_path: Path) -> None:
    path = tmp_path / "config"

    def write(token: str) -> None:
        config = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "current-context": "x"}
        config |= {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}
        path.write_text(json.dumps({**config, "users": [{"name": "u", "user": {"token": token}}]}))

    write("old")
    credentials = read_kubeconfig([path]).credentials
    write("new")
    assert asyncio.run(credentials.header()) == "Bearer old"
    credentials.reject()
    assert asyncio.run(credentials.header()) == "Bearer new"
    path.write_text("{")  # just being written
    credentials.reject()
    assert asyncio.run(credentials.header()) == "Bearer new"


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("one\n")
    credentials = TokenFile(path, monotonic_s=lambda: now)
    assert asyncio.run(credentials.header()) == "Bearer one"
    (tmp_path / "fresh").write_text("two\n")
    (tmp_path / "fresh").replace(path)
    assert asyncio.run(credentials.header()) == "Bearer one"  # not looked at again yet
    now = 2.0
    assert asyncio.run(credentials.header()) == "Bearer two"
    path.unlink()
    now = 4.0
    assert asyncio.run(credentials.header()) == "Bearer two"  # still good, for all we know


def test_a_token_that_was_not_believed_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    credentials = TokenFile(path, monotonic_s=lambda: 0.0)
    assert asyncio.run(credentials.header()) == "Bearer old"
    path.write_text("new")
    credentials.reject()
    assert asyncio.run(credentials.header()) == "Bearer new"


def test_a_token_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="cannot read the token"):
        asyncio.run(TokenFile(tmp_path / "token").header())


def test_a_plugin_is_asked_once_by_many_and_told_about_the_cluster(tmp_path: Path) -> None:
    async def scene() -> None:
        asked = plugin(tmp_path, cluster={"server": "https://here"})
        found = await asyncio.gather(*(asked.header() for _ in range(5)))
        assert set(found) == {"Bearer hello-1-https://here"}
        asked.reject()
        assert await asked.header() == "Bearer hello-2-https://here"

    asyncio.run(scene())


def test_a_plugin_is_asked_again_when_what_it_said_expires(tmp_path: Path) -> None:
    async def scene() -> None:
        now = datetime(2026, 1, 1, 12, 0, tzinfo=UTC).timestamp()
        asked = plugin(tmp_path, "2026-01-01T13:00:00Z", now_s=lambda: now)
        assert await asked.header() == "Bearer hello-1-None"
        now += 3500
        assert await asked.header() == "Bearer hello-1-None"
        now += 95  # its last seconds are not used
        assert await asked.header() == "Bearer hello-2-None"

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-plugin"], "is not installed. Install it with care"),
        ([sys.executable, "-c", "import sys; sys.exit('no login')"], "exited with 1: no login"),
        ([sys.executable, "-c", "print('hello')"], "printed no ExecCredential"),
        ([sys.executable, "-c", f"print('''{json.dumps({'status': {}})}''')"], "neither token nor certificate"),
    ],
)
def test_a_plugin_that_gives_nothing_says_why(command: list[str], words: str) -> None:
    asked = Plugin(command, {}, "client.authentication.k8s.io/v1", hint="Install it with care")
    with pytest.raises(CredentialsError, match=words):
        asyncio.run(asked.header())
