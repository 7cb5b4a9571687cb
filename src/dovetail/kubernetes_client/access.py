"""Finds the API server and the credentials: in a kubeconfig file or, inside a cluster, in the service account.

Reads what kubectl reads: contexts, CA and client certificates in files or inline, tokens, token files, user and
password, credential plugins, a proxy, a server name for the certificate. Several files in KUBECONFIG are merged; the
first that names an entry wins. Paths in a file are relative to that file. Nothing is connected to here.
"""

import base64
import binascii
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dovetail.kubernetes_client.credentials import (
    Credentials,
    Fixed,
    Plugin,
    TokenFile,
    WrittenToken,
    basic,
    load_identity,
)
from dovetail.kubernetes_client.tunnel import Proxy

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE = "default"
_YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class AccessError(Exception):
    """There is no way to the API server in what was given, or not enough of one."""


@dataclass(frozen=True)
class Access:
    server: str
    credentials: Credentials
    trust: ssl.SSLContext | None = None  # None: plain HTTP
    namespace: str = DEFAULT_NAMESPACE
    server_name: str | None = None  # that its certificate is for, where it is not the host of `server`
    proxy: str | None = None


def find_access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """The file that was named, else KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    if kubeconfig:
        return read_kubeconfig([Path(kubeconfig).expanduser()], context)
    named = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if named:
        return read_kubeconfig([path for path in named if path.exists()] or named, context)
    if context is None and os.environ.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        return in_cluster(SERVICE_ACCOUNT, os.environ)
    return read_kubeconfig([Path.home() / ".kube" / "config"], context)


def in_cluster(folder: Path, env: Mapping[str, str]) -> Access:
    """What every pod with a service account is given."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise AccessError("this is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set; give a kubeconfig")
    host = f"[{host}]" if ":" in host else host
    try:
        namespace = (folder / "namespace").read_text().strip()
    except OSError:
        namespace = DEFAULT_NAMESPACE
    trust = _trusting(str(folder / "ca.crt"), None, insecure=False)
    return Access(f"https://{host}:{port}", TokenFile(folder / "token"), trust, namespace)


def read_kubeconfig(paths: list[Path], context: str | None = None) -> Access:
    merged = _merged(paths)
    name = context or merged.current
    if not name:
        raise AccessError(f"{merged.sources} names no current context; give one of: {merged.names('contexts')}")
    chosen = merged.get("contexts", name)
    cluster, user = merged.get("clusters", chosen.get("cluster")), merged.get("users", chosen.get("user"), {})
    server = str(cluster.get("server") or "")
    if not server.startswith(("https://", "http://")):
        raise AccessError(f"{merged.sources}: the cluster of context {name!r} has no server address")
    trust = None
    if server.startswith("https://"):
        authority = _content(cluster, "certificate-authority")
        trust = _trusting(None, authority, insecure=bool(cluster.get("insecure-skip-tls-verify")))
        certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
        if certificate and key:
            try:
                load_identity(trust, certificate, key)
            except (ssl.SSLError, OSError) as error:
                raise AccessError(
                    f"{merged.sources}: the client certificate of {name!r} is not usable: {error}"
                ) from None
    if cluster.get("proxy-url"):
        try:
            Proxy(str(cluster["proxy-url"]))
        except ValueError as error:
            raise AccessError(f"{merged.sources}: {error}") from None
    return Access(
        server.rstrip("/"),
        _credentials(user, cluster, trust, lambda: _token_in(paths, chosen.get("user"))),
        trust,
        chosen.get("namespace") or DEFAULT_NAMESPACE,
        cluster.get("tls-server-name"),
        cluster.get("proxy-url"),
    )


class _Merged:
    """Several kubeconfig files as one."""

    def __init__(self) -> None:
        self.current = ""
        self._paths: list[str] = []
        self._found: dict[tuple[str, str], dict[str, Any]] = {}

    @property
    def sources(self) -> str:
        return ", ".join(self._paths) or "no kubeconfig"

    def add(self, path: Path) -> None:
        self._paths.append(str(path))
        try:
            content = yaml.load(path.read_bytes(), Loader=_YAML) or {}  # noqa: S506 - both loaders are safe ones
        except OSError as error:
            raise AccessError(f"cannot read the kubeconfig {path}: {error.strerror}") from None
        except yaml.YAMLError as error:
            raise AccessError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
        if not isinstance(content, dict):
            raise AccessError(f"{path} is not a kubeconfig: it holds no mapping")
        self.current = self.current or str(content.get("current-context") or "")
        for kind, inner in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for entry in content.get(kind) or ():
                about = dict(entry.get(inner) or {}, folder=path.parent)
                self._found.setdefault((kind, str(entry.get("name"))), about)

    def get(self, kind: str, name: str | None, otherwise: dict[str, Any] | None = None) -> dict[str, Any]:
        found = self._found.get((kind, str(name)), otherwise)
        if found is None:
            raise AccessError(f"{self.sources} has no {kind[:-1]} {name!r}; it has: {self.names(kind)}")
        return found

    def names(self, kind: str) -> str:
        return ", ".join(name for of, name in self._found if of == kind) or "none"


def _merged(paths: list[Path]) -> _Merged:
    found = _Merged()
    for path in paths:
        found.add(path)
    return found


def _token_in(paths: list[Path], user: str | None) -> str:
    """Empty if it cannot be read now, such as while the file is being written."""
    try:
        return str(_merged(paths).get("users", user).get("token") or "")
    except AccessError:
        return ""


def _content(about: Mapping[str, Any], field: str) -> bytes | None:
    """Inline (`…-data`, base64) or from a file, in that order, as kubectl has it."""
    inline, file = about.get(f"{field}-data"), about.get(field)
    if inline:
        try:
            return base64.b64decode(inline, validate=True)
        except binascii.Error:
            raise AccessError(f"{field}-data is not base64") from None
    if not file:
        return None
    path = about["folder"] / file
    try:
        return bytes(path.read_bytes())
    except OSError as error:
        raise AccessError(f"cannot read the {field} {path}: {error.strerror}") from None


def _trusting(file: str | None, authority: bytes | None, *, insecure: bool) -> ssl.SSLContext:
    try:
        trust = ssl.create_default_context(cafile=file, cadata=authority.decode() if authority else None)
    except (ssl.SSLError, OSError, UnicodeDecodeError) as error:
        raise AccessError(f"the certificate authority of the cluster is not usable: {error}") from None
    # Authorities of clusters are often older than the strictest rules, which newer Pythons ask for by default.
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if insecure:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust


def _credentials(
    user: Mapping[str, Any], cluster: Mapping[str, Any], trust: ssl.SSLContext | None, token_now: Callable[[], str]
) -> Credentials:
    if user.get("token"):
        return WrittenToken(str(user["token"]), token_now)
    if user.get("tokenFile"):
        return TokenFile(user["folder"] / user["tokenFile"])
    if user.get("username"):
        return basic(str(user["username"]), str(user.get("password") or ""))
    if user.get("exec"):
        return _plugin(user["exec"], user["folder"], cluster, trust)
    return Fixed()


def _plugin(told: Mapping[str, Any], folder: Path, cluster: Mapping[str, Any], trust: ssl.SSLContext | None) -> Plugin:
    command = str(told.get("command") or "")
    if "/" in command:
        command = str(folder / command)
    shown = {key: value for key, value in cluster.items() if key != "folder"}
    return Plugin(
        [command, *map(str, told.get("args") or ())],
        {str(each["name"]): str(each["value"]) for each in told.get("env") or ()},
        str(told.get("apiVersion") or "client.authentication.k8s.io/v1"),
        shown if told.get("provideClusterInfo") else None,
        str(told.get("installHint") or ""),
        trust,
    )
