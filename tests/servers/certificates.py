"""Certificates for servers that tests start: an authority of our own and what it signs, made by `openssl`.

They are valid for the loopback and for two days, and strict enough for clients that check everything. Nothing here is
secret or lasts.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

DAYS = "2"
SERVER_NAMES = "IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates that clients trust who trust `certificate`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._own = self._make(
            "authority", ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
        )

    @property
    def certificate(self) -> Path:
        return self._own.certificate

    def server(self, name: str) -> Certificate:
        """For whoever answers on the loopback."""
        return self._leaf(name, ["extendedKeyUsage=serverAuth", f"subjectAltName={SERVER_NAMES}"])

    def client(self, name: str) -> Certificate:
        """For whoever calls, known by this name."""
        return self._leaf(name, ["extendedKeyUsage=clientAuth"])

    def _leaf(self, name: str, extensions: list[str]) -> Certificate:
        usual = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature"]
        return self._make(name, [*usual, "authorityKeyIdentifier=keyid", *extensions], signer=self._own)

    def _make(self, name: str, extensions: list[str], signer: Certificate | None = None) -> Certificate:
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}-key.pem")
        # A file of its own, so that the system's openssl.cnf adds nothing.
        settings = self._folder / f"{name}.cnf"
        lines = ["[req]", "distinguished_name=subject", "x509_extensions=extensions", "[subject]", "[extensions]"]
        settings.write_text("\n".join([*lines, "subjectKeyIdentifier=hash", *extensions, ""]))
        command: list[str | Path] = ["openssl", "req", "-x509", "-config", settings]
        command += ["-subj", f"/CN={name}", "-days", DAYS]
        command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-keyout", made.key, "-out", made.certificate]
        if signer is not None:
            command += ["-CA", signer.certificate, "-CAkey", signer.key]
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        return made
