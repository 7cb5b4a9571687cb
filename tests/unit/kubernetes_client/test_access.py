"""Kubeconfig files are read as kubectl reads them, and what is wrong with one is said."""

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.servers.certificates import Authority

from dovetail.kubernetes_client.access import AccessError, find_access, in_cluster, read_kubeconfig


def config(**user: Any) -> dict[str, Any]:
    return {
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "work"}},
            {"name": "two", "context": {"cluster": "c", "user": "nobody"}},
        ],
        "current-context": "one",
    }


def written(folder: Path, content: Any, name: str = "config") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(content))
    return path


def header_of(path: Path, context: str | None = None) -> str | None:
    return asyncio.run(read_kubeconfig([path], context).credentials.header())


def test_a_token_and_the_namespace_of_the_context_are_used(tmp_path: Path) -> None:
    access = read_kubeconfig([written(tmp_path, config(token="abc"))])
    assert (access.server, access.namespace) == ("https://10.0.0.1:6443", "work")
    assert asyncio.run(access.credentials.header()) == "Bearer abc"
    assert access.trust is not None
    assert access.trust.verify_mode is ssl.CERT_NONE


def test_a_context_that_names_no_user_comes_as_nobody(tmp_path: Path) -> None:
    path = written(tmp_path, config(token="abc"))
    assert header_of(path, "two") is None
    assert read_kubeconfig([path], "two").namespace == "default"


def test_a_password_is_basic_authentication(tmp_path: Path) -> None:
    path = written(tmp_path, config(username="eve", password="secret"))
    assert header_of(path) == "Basic " + base64.b64encode(b"eve:secret").decode()


def test_a_token_file_is_looked_for_beside_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    assert header_of(written(tmp_path, config(tokenFile="token"))) == "Bearer from-file"


@pytest.mark.parametrize("inline", [True, False])
def test_certificates_come_inline_or_from_files(tmp_path: Path, inline: bool) -> None:
    authority = Authority(tmp_path / "certificates")
    us = authority.client("us")
    content = config()
    cluster = content["clusters"][0]["cluster"]
    del cluster["insecure-skip-tls-verify"]

    def given(name: str, path: Path) -> dict[str, str]:
        return {f"{name}-data": base64.b64encode(path.read_bytes()).decode()} if inline else {name: str(path)}

    cluster |= given("certificate-authority", authority.certificate)
    content["users"][0]["user"] = given("client-certificate", us.certificate) | given("client-key", us.key)
    trust = read_kubeconfig([written(tmp_path, content)]).trust
    assert trust is not None
    assert trust.verify_mode is ssl.CERT_REQUIRED
    assert [str(each["subject"]) for each in trust.get_ca_certs()] == ["((('commonName', 'authority'),),)"]


def test_of_several_files_the_first_that_names_something_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = written(tmp_path, {"users": [{"name": "u", "user": {"token": "first"}}]}, "first")
    second = written(tmp_path, config(token="second"), "second")
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'missing'}:{second}")
    assert asyncio.run(find_access().credentials.header()) == "Bearer first"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("- a list", "it holds no mapping"),
        ("{", "is not YAML"),
        ("clusters: []", "names no current context"),
        ("current-context: x", "has no context 'x'; it has: none"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_said(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(AccessError, match=words):
        read_kubeconfig([path])


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="nowhere: No such file"):
        find_access(str(tmp_path / "nowhere"))


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "certificates")
    (tmp_path / "ca.crt").write_bytes(authority.certificate.read_bytes())
    (tmp_path / "token").write_text("mounted")
    (tmp_path / "namespace").write_text("kube-system")
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    access = in_cluster(tmp_path, env)
    assert (access.server, access.namespace) == ("https://[fd00::1]:6443", "kube-system")
    with pytest.raises(AccessError, match="no pod of a cluster"):
        in_cluster(tmp_path, {})
