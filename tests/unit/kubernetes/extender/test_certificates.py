"""Certificates are read again when their files change, and a bad file changes nothing."""

import shutil
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from tests.servers.certificates import Authority, Certificate
from tests.servers.daemon import skip_without

from dovetail.kubernetes.extender.certificates import Certificates


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    skip_without("openssl")
    return Authority(tmp_path / "authority")


def shown_by(server: ssl.SSLContext, client: Certificate | None = None) -> bytes:
    """The certificate that a client gets to see. Raises ssl.SSLError if the server does not let it in."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client is not None:
        context.load_cert_chain(client.certificate, client.key)
    here, there = socket.socketpair()
    with ThreadPoolExecutor(1) as beside:
        serving = beside.submit(_serve, server, there)
        with context.wrap_socket(here) as tls, suppress(ssl.SSLError, ConnectionError):
            found = tls.getpeercert(binary_form=True)
            tls.recv(1)
        serving.result()
    assert found is not None
    return found


def _serve(server: ssl.SSLContext, end: socket.socket) -> None:
    with end, server.wrap_socket(end, server_side=True) as tls:
        tls.sendall(b".")


def put(one: Certificate, folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "tls.crt", folder / "tls.key"
    shutil.copyfile(one.certificate, certificate)
    shutil.copyfile(one.key, key)
    return certificate, key


def test_the_next_connection_gets_the_new_certificate(authority: Authority, tmp_path: Path) -> None:
    first, second = authority.server("first"), authority.server("second")
    found = Certificates(*put(first, tmp_path))
    before = shown_by(found.context)
    assert not found.refresh()
    put(second, tmp_path)
    assert found.refresh()
    after = shown_by(found.context)
    expected = [ssl.PEM_cert_to_DER_cert(one.certificate.read_text()) for one in (first, second)]
    assert [before, after] == expected


def test_files_that_do_not_belong_together_leave_the_old_certificate(authority: Authority, tmp_path: Path) -> None:
    first, second = authority.server("first"), authority.server("second")
    certificate, key = put(first, tmp_path)
    found = Certificates(certificate, key)
    shutil.copyfile(second.certificate, certificate)
    assert not found.refresh()
    assert shown_by(found.context) == ssl.PEM_cert_to_DER_cert(first.certificate.read_text())
    shutil.copyfile(second.key, key)
    assert found.refresh()


def test_a_file_that_is_missing_is_said_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Certificates(tmp_path / "none", tmp_path / "none")


def test_only_clients_of_the_authorities_that_the_file_has_now_may_ask(authority: Authority, tmp_path: Path) -> None:
    others = Authority(tmp_path / "others")
    mine, theirs = authority.client("mine"), others.client("theirs")
    trusted = tmp_path / "client-ca.pem"
    shutil.copyfile(authority.certificate, trusted)
    found = Certificates(*put(authority.server("server"), tmp_path), trusted)
    shown_by(found.context, mine)
    for stranger in (None, theirs):
        with pytest.raises(ssl.SSLError):
            shown_by(found.context, stranger)
    shutil.copyfile(others.certificate, trusted)
    assert found.refresh()
    shown_by(found.context, theirs)
    with pytest.raises(ssl.SSLError):
        shown_by(found.context, mine)
