"""Settings of the DNS server, as the command's options and the settings of an agent give them."""

from ipaddress import ip_address
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict, shown, text_format

PORT = 53


class SocketAddress(NamedTuple):
    host: str
    port: int


def parse_address(text: str, port: int = PORT) -> SocketAddress:
    """`127.0.0.1:5353`, `[::1]:5353`; `port` where none is given. Raises ValueError."""
    host, number = text, str(port)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(_wrong(text))
        number = rest[1:] or number
    elif text.count(":") == 1:
        host, _, number = text.partition(":")
    try:
        found = SocketAddress(str(ip_address(host)), int(number) if number.isascii() and number.isdigit() else -1)
    except ValueError:
        raise ValueError(_wrong(text)) from None
    if not 0 < found.port < 65_536:
        raise ValueError(_wrong(text))
    return found


def _wrong(text: str) -> str:
    return f"{shown(text)} is not an address with a port; write it as 127.0.0.1:5353 or [::1]:5353"


def _check_address(text: str) -> str:
    parse_address(text)
    return text


def _check_domain(text: str) -> str:
    labels = text.rstrip(".").split(".")
    for label in labels:
        if not 0 < len(label) <= 63 or not label.replace("-", "").isalnum() or not label.isascii():
            raise ValueError(f"{shown(text)} is not a domain; write it as dovetail or dovetail.example.org")
    return text.rstrip(".").lower()


ListenAddress = Annotated[str, AfterValidator(_check_address), text_format("socket-address", least=1, most=100)]
DomainName = Annotated[str, AfterValidator(_check_domain), text_format("domain", least=1, most=150)]


class DnsSettings(Strict):
    listen: ListenAddress = "127.0.0.1:5353"
    """Where it listens, for UDP and TCP. Whoever can reach this may ask where services are."""
    domain: DomainName = "dovetail"
    """Under which the names of services stand. Everything else is refused."""
    ttl: Annotated[Duration, Field(ge=0, le=3600)] = 5.0
    """How long clients may keep an answer, in whole seconds: as long they may go on asking a replica that is gone."""
    most_addresses: Annotated[int, Field(ge=1, le=28)] = 8
    """How many addresses one answer over UDP names, the nearest ones; over TCP it names all."""
    forward: Annotated[list[ListenAddress], Field(max_length=8)] = []
    """Resolvers that are asked for names outside the domain, one after the other; only for this machine and for nodes.
    None: such names are refused."""
    metrics: ListenAddress | None = None
    """Where it shows metrics in the format of Prometheus, under /metrics."""
