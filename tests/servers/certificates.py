"""Certificates for servers that tests start: an authority of our own and what it signs, made by `openssl`,
which makes none whose time is over: those are signed here.

They are valid for the loopback and for two days, and strict enough for clients that check everything. Nothing here is
secret or lasts.
"""

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

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

    def expire(self, made: Certificate) -> None:
        """Signs it again, with a time that is over."""
        now = datetime.now(UTC)
        signed = x509.load_pem_x509_certificate(made.certificate.read_bytes())
        authority = x509.load_pem_x509_certificate(self._own.certificate.read_bytes())
        key = load_pem_private_key(self._own.key.read_bytes(), None)
        assert isinstance(key, EllipticCurvePrivateKey)
        again = (
            x509.CertificateBuilder(authority.subject, signed.subject, signed.public_key(), signed.serial_number)
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now - timedelta(days=1))
        )
        for extension in signed.extensions:
            again = again.add_extension(extension.value, extension.critical)
        made.certificate.write_bytes(again.sign(key, SHA256()).public_bytes(Encoding.PEM))

    def _leaf(self, name: str, extensions: list[str]) -> Certificate:
        # libvirt wants keyEncipherment too, whatever the kind of key.
        usual = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature,keyEncipherment"]
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
