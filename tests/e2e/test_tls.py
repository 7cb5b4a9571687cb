"""The API over TLS: certificates from files or made at start, and who believes them."""

import json
import os
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.servers.certificates import Authority

from dovetail.access.certificates import fingerprint, own_certificate
from dovetail.access.known_servers import known_server
from dovetail.client import Client, ConnectError
from dovetail.client.transport.credentials import credentials_for

pytestmark = pytest.mark.needs_server
BACKENDS = {"sim": {"kind": "simulated", "groups": [{"count": 1}]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    listen = {"host": "0.0.0.0", "tls": "self-signed", "names": ["sched.example.org"]}
    with ServerProcess(tmp_path_factory.mktemp("tls"), {"listen": listen, "backends": BACKENDS}) as found:
        yield found


def environment(url: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")}
    return kept | {"DOVETAIL_URL": url, **more}


def test_client_and_command_of_the_same_account_believe_the_certificate_that_was_made(server: ServerProcess) -> None:
    with Client(server.url) as client:
        assert len(client.nodes()) == 1
    done = run_warm(["nodes"], environment(server.url))
    assert done.returncode == 0, done.stderr
    assert "sim-1" in done.stdout
    key = server.folder / "data" / "tls.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert fingerprint(server.folder / "data" / "tls.crt") in server.log.read_text()


def test_others_are_given_the_certificate_and_the_token(server: ServerProcess, tmp_path: Path) -> None:
    token = credentials_for(server.url).token
    assert token is not None
    stranger = environment(server.url, XDG_STATE_HOME=str(tmp_path), DOVETAIL_TOKEN=token)
    refused = run_warm(["nodes"], stranger)
    assert refused.returncode == 3
    assert "its certificate is not trusted" in refused.stderr
    believes = stranger | {"SSL_CERT_FILE": str(server.folder / "data" / "tls.crt")}
    assert run_warm(["nodes"], believes).returncode == 0
    (tmp_path / "token").write_text(f"{token}\n")
    del believes["DOVETAIL_TOKEN"]
    unknown = run_warm(["nodes"], believes)
    assert unknown.returncode == 5
    assert "--token-file" in unknown.stderr
    assert run_warm(["--token-file", str(tmp_path / "token"), "nodes"], believes).returncode == 0
    by_variable = believes | {"DOVETAIL_TOKEN_FILE": str(tmp_path / "token")}
    assert run_warm(["nodes"], by_variable).returncode == 0
    assert run_warm(["--token-file", str(tmp_path / "no"), "nodes"], believes).returncode == 2


def test_another_server_at_the_address_gets_no_token(server: ServerProcess, tmp_path: Path) -> None:
    """Whoever takes the port later has no key for the noted certificate, so nothing is sent to it."""
    known = known_server(server.url)
    assert known is not None
    other, _ = own_certificate(tmp_path, ["127.0.0.1"])
    note = Path(os.environ["XDG_STATE_HOME"], "dovetail", "servers", f"127.0.0.1_{server.port}.json")
    before = note.read_text()
    note.write_text(json.dumps(known._replace(certificate=str(other))._asdict()))
    try:
        with Client(server.url) as client, pytest.raises(ConnectError, match="not trusted"):
            client.nodes()
    finally:
        note.write_text(before)


def test_certificates_from_files_are_checked_as_usual(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    made = authority.server("of-ours")
    tls = {"certificate": str(made.certificate), "key": str(made.key)}
    with ServerProcess(tmp_path, {"listen": {"tls": tls}, "backends": BACKENDS}) as server:
        context = ssl.create_default_context(cafile=authority.certificate)
        assert httpx.get(f"{server.url}/ready", verify=context, timeout=60).status_code == 200
        with Client(server.url) as client:
            assert client.nodes()
        assert server.stop() == 0
        assert known_server(server.url) is None


def test_a_certificate_stays_until_it_ends_or_a_name_is_missing(tmp_path: Path) -> None:
    first, _ = own_certificate(tmp_path, ["localhost", "127.0.0.1"])
    before = fingerprint(first)
    own_certificate(tmp_path, ["127.0.0.1"])
    assert fingerprint(first) == before
    own_certificate(tmp_path, ["127.0.0.1", ".example.org"])
    assert fingerprint(first) != before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "write self-signed"),
        (["--host", "192.0.2.7"], "allow_plain_http: true"),
    ],
)
def test_beyond_the_loopback_it_does_not_start_without_tls(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = run_warm(["serve", "--data", str(tmp_path), "--port", "0", *arguments], environment("http://127.0.0.1:1"))
    assert done.returncode == 2
    assert words in done.stderr
    assert not list(tmp_path.iterdir())


def test_files_that_hold_no_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        json.dumps({"listen": {"tls": {"certificate": str(tmp_path / "no.pem"), "key": str(tmp_path)}}})
    )
    command = ["serve", "--config", str(settings), "--data", str(tmp_path / "data"), "--port", "0"]
    done = run_warm(command, environment("http://127.0.0.1:1"))
    assert done.returncode == 1
    assert "no.pem" in done.stderr
    assert "PEM files" in done.stderr
