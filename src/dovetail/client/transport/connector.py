"""Opening connections to one server: TCP, TLS, and the proxy that the environment names.

Guarantees: the certificate of an https server is checked (SSL_CERT_FILE and SSL_CERT_DIR name other authorities). A
server on this machine is reached directly, whatever proxy is set for the network. `ssl` and the rules for proxies are
imported only by those who need them.
"""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:
    import ssl

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LONGEST_ANSWER = 2**16  # of a proxy


class ProxyRefused(OSError):
    """The proxy opens no tunnel to the server."""


class Connector:
    """Where a server is and how it is reached. `prefix` stands before every path, `headers` go with every request.
    `certificate`: a file with the only one to believe, as a server of this account has made it."""

    def __init__(self, url: str, timeout_s: float, certificate: str | None = None) -> None:
        parts = urlsplit(url)
        self._certificate = certificate
        self._timeout_s = timeout_s
        self._secure = parts.scheme == "https"
        self._host, self._port = _host(parts), _port(parts)
        self._proxy = _proxy_for(parts)
        self._trust: ssl.SSLContext | None = None
        self.headers = {"Host": _authority(parts)} | _credentials("Authorization", parts)
        self.prefix = parts.path
        if self._proxy is not None and not self._secure:  # the proxy is asked, for the whole address
            self.prefix = f"http://{_authority(parts)}{parts.path}"
            self.headers |= _credentials("Proxy-Authorization", self._proxy)

    def open(self) -> socket.socket:
        """Raises OSError."""
        if self._proxy is None:
            return self._secured(self._connected(self._host, self._port), self._host) if self._secure else self._plain()
        return self._through(self._proxy)

    def _plain(self) -> socket.socket:
        return self._connected(self._host, self._port)

    def _connected(self, host: str, port: int) -> socket.socket:
        # As bytes: for text Python first loads the tables of international names.
        found = socket.create_connection((host.encode("ascii"), port), self._timeout_s)  # type: ignore[arg-type]
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def _secured(self, plain: socket.socket, name: str) -> socket.socket:
        if self._trust is None:
            self._trust = _authorities(self._certificate)
        try:
            return self._trust.wrap_socket(plain, server_hostname=name)
        except BaseException:
            plain.close()
            raise

    def _through(self, proxy: SplitResult) -> socket.socket:
        connection = self._connected(_host(proxy), _port(proxy))
        if proxy.scheme == "https":
            connection = self._secured(connection, _host(proxy))
        if not self._secure:
            return connection
        try:
            self._tunnel(connection, proxy)
        except BaseException:
            connection.close()
            raise
        return self._secured(connection, self._host)

    def _tunnel(self, connection: socket.socket, proxy: SplitResult) -> None:
        there = f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"
        headers = {"Host": there} | _credentials("Proxy-Authorization", proxy)
        lines = [f"CONNECT {there} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        answer = b""
        while b"\r\n\r\n" not in answer and len(answer) < _LONGEST_ANSWER:
            piece = connection.recv(1)  # what follows belongs to the server
            if not piece:
                break
            answer += piece
        line = answer.partition(b"\r\n")[0].decode("latin-1")
        if line.split(" ")[1:2] != ["200"]:
            raise ProxyRefused(f"the proxy {proxy.hostname} opens no tunnel: {line or 'it closed the connection'}")


def _host(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return name if name.isascii() else name.encode("idna").decode("ascii")


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _authority(parts: SplitResult) -> str:
    host = _host(parts)
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, 443 if parts.scheme == "https" else 80) else f"{host}:{parts.port}"


def _credentials(header: str, parts: SplitResult) -> dict[str, str]:
    """User and password of an address, such as http://user:password@host."""
    if parts.username is None:
        return {}
    from binascii import b2a_base64

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {header: f"Basic {b2a_base64(pair, newline=False).decode('ascii')}"}


def _proxy_for(parts: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this server (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY)."""
    if parts.hostname in _LOOPBACK or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    known = getproxies()
    url = known.get(parts.scheme) or known.get("all")
    if not url or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = urlsplit(url if "://" in url else f"http://{url}")
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise ValueError(f"{url!r} is not the address of a proxy that can be used; write it like http://host:3128")
    if proxy.scheme == "https" and parts.scheme == "https":
        raise ValueError(f"a tunnel through {url!r} would need TLS inside TLS; name the proxy as http://")
    return proxy


def _authorities(certificate: str | None) -> "ssl.SSLContext":
    """One certificate alone, or those of this machine. Python may have been built for folders that do not exist here;
    certifi then has a list."""
    import ssl

    if certificate is not None:
        return _pinned(certificate)
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        import certifi

        return ssl.create_default_context(cafile=certifi.where())
    return ssl.create_default_context()


def _pinned(certificate: str) -> "ssl.SSLContext":
    """Believes the first certificate of the file and no other, by whatever name the server is reached."""
    import ssl

    end = "-----END CERTIFICATE-----"
    first = Path(certificate).read_text().partition(end)[0] + end
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.check_hostname = False
    found.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    found.load_verify_locations(cadata=first)
    return found
