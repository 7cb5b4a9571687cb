"""Which addresses only programs of this machine can reach."""

from ipaddress import ip_address

EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
