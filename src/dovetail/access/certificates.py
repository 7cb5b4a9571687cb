"""The certificate that a server makes for itself: who has its file knows the server, and nobody else's is signed by it.

Guarantees: the key has mode 0600. The certificate is made anew when a name is missing in it, or when it ends within a
month; otherwise it stays, so that clients that were given it go on.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.access.private_file import write_private

if TYPE_CHECKING:
    from cryptography import x509

CERTIFICATE, KEY = "tls.crt", "tls.key"
_DAYS, _DAYS_LEFT = 825, 30


def own_certificate(folder: Path, names: Iterable[str]) -> tuple[Path, Path]:
    """Certificate and key for these names and addresses, in this folder. Raises OSError."""
    wanted = sorted(set(names))
    certificate, key = folder / CERTIFICATE, folder / KEY
    if not (key.exists() and _still_serves(certificate, wanted)):
        _make(certificate, key, wanted)
    return certificate, key


def fingerprint(certificate: Path) -> str:
    """SHA-256 of the first certificate in a file, as openssl writes it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    return found.fingerprint(SHA256()).hex(":").upper()


def _still_serves(certificate: Path, names: list[str]) -> bool:
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
        given = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return False
    in_time = found.not_valid_after_utc > datetime.now(UTC) + timedelta(days=_DAYS_LEFT)
    return in_time and set(_alternatives(names)) <= set(given)


def _make(certificate: Path, key: Path, names: list[str]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    secret = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dovetail")])
    now = datetime.now(UTC)
    own = x509.SubjectKeyIdentifier.from_public_key(secret.public_key())
    signs = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    made = (
        x509.CertificateBuilder()
        .subject_name(called)
        .issuer_name(called)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(_alternatives(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(signs, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(own, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own), critical=False)
        .sign(secret, SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    write_private(key, secret.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode())
    write_private(certificate, made.public_bytes(pem).decode())
    certificate.chmod(0o644)  # clients of other accounts may be given it


def _alternatives(names: list[str]) -> "list[x509.GeneralName]":
    """`.example.org` stands for every name below it."""
    from cryptography import x509

    found: list[x509.GeneralName] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(f"*{name}" if name.startswith(".") else name))
    return found
