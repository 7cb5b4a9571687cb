"""How libvirt reaches a hypervisor elsewhere with the keys and certificates of the settings, and what its errors mean.

libvirt calls ssh itself, and has no parameter for a file of known hosts or for a time limit: it gets a script that adds
them. It looks for certificates under fixed names in one folder: it gets a folder of links. Both lie in the folder of
the backend and are made anew at every start. Guarantees: nobody is ever asked for a password or about a key; an error
names the address, the files of the settings, and what to do.
"""

import re
import shlex
import shutil
import socket
import ssl
import threading
from pathlib import Path
from urllib.parse import urlsplit

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.backends.libvirt.settings import HypervisorSettings
from dovetail.model.failure_cause import FailureCause

#: ssh ends when the other machine is silent for so long, also while libvirt connects and sends no keepalives yet.
ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")
TLS_PORT = 16514
DIAGNOSE_S = 3.0
NOT_VERIFIED = "Failed to verify peer's certificate"
MAX_LOG_CHARACTERS = 10_000
MAX_ERROR_CHARACTERS = 500
_FROM_PROGRAM = re.compile(
    r"(?:Cannot recv data|End of file while reading data):(.*): (?:Connection reset by peer|Input/output error)",
    re.DOTALL,
)
_BACKEND = FailureCause.BACKEND
_ADVICE = FailureRules([
    # ssh.
    FailureRule("host key verification failed", _BACKEND,
                "compare the key of the host with that in ssh.known_hosts; if the host is right, correct the file"),
    FailureRule(r"permission denied \(|too many authentication failures", _BACKEND,
                "add the public part of ssh.identity to authorized_keys of the account in uri"),
    FailureRule("could not resolve|connection refused|no route to host|unreachable|timed out|no answer in", _BACKEND,
                "correct host and port in uri, or start what listens there"),
    FailureRule("(virt-ssh-helper|nc|netcat): (command )?not found", _BACKEND,
                "install libvirt's daemon there (Debian: libvirt-daemon-system)"),
    FailureRule("failed to connect socket|cannot connect to.*libvirt-sock", _BACKEND,
                "start libvirtd there, and let the account use its socket: group libvirt"),
    FailureRule("exec: .*(not found|permission denied)", _BACKEND, "correct ssh.program"),
    # TLS.
    FailureRule("has expired|not yet (active|valid)", _BACKEND, "replace the certificate, or correct the clock"),
    FailureRule("known issuer|issuer certificate|self-signed|not trusted|failed to verify peer", _BACKEND,
                "tls.ca has to have the CA of libvirtd's certificate, and that of tls.cert"),
    FailureRule("mismatch", _BACKEND, "write the host in uri as its certificate names it"),
    FailureRule("unable to read tls confirmation", _BACKEND,
                "libvirtd refused tls.cert: let the CA in its ca_file sign it, and look at its tls_allowed_dn_list"),
])  # fmt: skip


class RemoteAccess:
    def __init__(self, settings: HypervisorSettings, folder: Path) -> None:
        self._settings = settings
        self._lock, self._uri = threading.Lock(), ""
        self._folder = (folder / "connections" / settings.name).absolute()
        self._names = {} if settings.tls is None else {  # what libvirt calls the files
            name: file
            for name, file in (
                ("cacert.pem", settings.tls.ca),
                ("clientcert.pem", settings.tls.cert),
                ("clientkey.pem", settings.tls.key),
            )
            if file is not None
        }  # fmt: skip

    def prepared(self) -> str:
        """The connection as libvirt takes it; what it needs is made first. From any thread. Raises OSError."""
        with self._lock:
            self._uri = self._uri or self._prepare()
            return self._uri

    def _prepare(self) -> str:
        if self._folder.exists():
            shutil.rmtree(self._folder)
        if self._settings.transport == "ssh":
            self._folder.mkdir(mode=0o700, parents=True)
            self._script.write_text(self._ssh())
            self._script.chmod(0o700)
            return self._settings.connection(command=str(self._script), no_tty="1")
        if self._names:
            self._folder.mkdir(mode=0o700, parents=True)
            for name, file in self._names.items():
                (self._folder / name).symlink_to(Path(file).absolute())
            return self._settings.connection(pkipath=str(self._folder))
        return self._settings.connection()

    def unusable(self) -> str:
        """Why a connection need not be tried; empty if nothing speaks against it."""
        for name, file in self._names.items():
            try:
                (self._folder / name).read_bytes()
            except OSError as error:
                return f"its certificates cannot be used: {file}: {error.strerror}; correct tls in the settings"
        return ""

    def words(self, error: str) -> str:
        """An error message of libvirt for those who know the settings and not what was made of them. Blocking."""
        for name, file in self._names.items():
            error = error.replace(str(self._folder / name), file)
        if NOT_VERIFIED in error:
            error = f"the certificate of libvirtd is refused: {self._not_verified() or error}"
        return self._at_its_address(self._cause(error))

    def silence(self, within_s: float) -> str:
        """The error message for a call that got no answer."""
        return self._at_its_address(f"no answer in {within_s:g} s")

    def _at_its_address(self, words: str) -> str:
        """Of a hypervisor on the machine of the server the words are enough."""
        uri = self._settings.uri
        return _ADVICE.advised(f"{uri}: {words}") if urlsplit(uri).hostname else words

    def _not_verified(self) -> str:
        """What is wrong with the certificate of the other side, which libvirt writes nowhere but to its log."""
        parts, tls = urlsplit(self._settings.uri), self._settings.tls
        host, port = parts.hostname, parts.port or TLS_PORT
        if tls is None or host is None:
            return ""
        try:
            checked = ssl.create_default_context(cafile=tls.ca)
            with socket.create_connection((host, port), DIAGNOSE_S) as connected:
                checked.wrap_socket(connected, server_hostname=host).close()
        except ssl.SSLCertVerificationError as error:
            return str(error.verify_message)
        except OSError:  # also other errors of TLS
            pass
        return ""

    @property
    def _script(self) -> Path:
        return self._folder / "ssh"

    @property
    def _log(self) -> Path:
        return self._folder / "ssh.log"

    def _ssh(self) -> str:
        """libvirt keeps only the beginning of what ssh complains of, so ssh writes that to a file as well."""
        called, log = self._settings.ssh, shlex.quote(str(self._log))
        words = shlex.join([called.program, *called.options_of(), *ALIVE])
        return f'#!/bin/sh\n: >{log}\nexec {words} -E {log} "$@"\n'

    def _cause(self, error: str) -> str:
        """Without what libvirt writes around the words of a program that it called, and with those of ssh itself."""
        found = _FROM_PROGRAM.fullmatch(error)
        if found is not None:
            error = f"{found[1]} {self._said_by_ssh()}".strip() or error
        return " ".join(error.split())[-MAX_ERROR_CHARACTERS:]

    def _said_by_ssh(self) -> str:
        """The last two lines that ssh wrote when it was called last: before them stands what it warns of at length."""
        try:
            text = self._log.read_text(errors="replace")[-MAX_LOG_CHARACTERS:]
        except OSError:
            return ""
        return " ".join([line for line in text.splitlines() if line.strip()][-2:])
