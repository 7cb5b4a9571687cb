"""Settings of the API: where it listens, with which certificate, who may ask, and how much a request may ask for."""

import socket
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from dovetail.access.addresses import EVERY_ADDRESS, is_loopback
from dovetail.model.text.quantity import Bytes, Count, Duration
from dovetail.model.text.strict import AtField, Strict

DEFAULT_PORT = 8080
SELF_SIGNED = "self-signed"

HostName = Annotated[str, Field(pattern=r"^\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=253)]
FilePath = Annotated[str, Field(min_length=1, max_length=3000)]


class ListenTls(Strict):
    """Certificates of the API. Without files the server makes one for itself, `tls.crt` in its data folder."""

    certificate: FilePath | None = None
    """The server's certificate, and below it those that signed it, a PEM file."""
    key: FilePath | None = None
    """Its key, a PEM file."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            missing = "certificate" if self.certificate is None else "key"
            raise AtField((missing,), "is missing: certificate and key are given together")
        return self


def _as_tls(value: Any) -> Any:
    return {} if value == SELF_SIGNED else value


class Listen(Strict):
    host: Annotated[str, Field(min_length=1, max_length=253)] = "127.0.0.1"
    """The address that the server listens on. Others can reach it only if it is not the loopback: `0.0.0.0` is every
    address of this machine, and needs `tls`."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """The TCP port of the API; 0 takes a free one."""
    names: Annotated[list[HostName], Field(max_length=100)] = []
    """Names under which clients reach it, besides this machine's own: `batch.example.org`, or `.example.org` for
    every name below. A request that names another host is refused with 421; addresses always work."""

    tls: Annotated[ListenTls | None, BeforeValidator(_as_tls)] = None
    """Speak https: `self-signed`, or certificate and key. Needed beyond the loopback."""
    allow_plain_http: bool = False
    """Listen beyond the loopback without TLS, where others can read tokens and work on the way. Say so only if a proxy
    before the server speaks TLS, or if nobody else is in that network."""

    @model_validator(mode="after")
    def _encrypted_beyond_loopback(self) -> Self:
        if not (self.is_loopback or self.tls is not None or self.allow_plain_http):
            words = (
                f"is missing: others can read what is sent to {self.host!r}; write self-signed, or certificate and key"
            )
            raise AtField(("tls",), f"{words}. If a proxy speaks TLS, write allow_plain_http: true instead")
        return self

    @property
    def is_loopback(self) -> bool:
        """Only programs of this machine can reach it."""
        return is_loopback(self.host)

    @property
    def known_names(self) -> list[str]:
        """Names and addresses under which it is reached, for a certificate."""
        usual = ["localhost", "127.0.0.1", "::1", *self.names]
        if self.is_loopback:
            return usual
        return [*usual, socket.gethostname(), *([] if self.host in EVERY_ADDRESS else [self.host])]


class AccessSettings(Strict):
    token_file: FilePath | None = None
    """A file with the admin token, one word of at least 20 letters and digits, if you make it yourself: a secret of
    your cluster manager, say. By default the first start makes `admin.token` in the data folder."""


class RequestLimits(Strict):
    max_body: Bytes = 8 * 2**20
    """The largest body of a request; a larger one is refused with 413."""
    max_bodies: Annotated[Bytes, Field(ge=1)] = 64 * 2**20
    """The bodies that are received or checked at the same time, together; more are refused with 503."""
    max_headers: Annotated[Count, Field(ge=10)] = 100
    """The most headers of a request; more are refused with 431."""
    max_headers_size: Annotated[Bytes, Field(ge=1024)] = 64 * 2**10
    """The address and the headers of a request, together; larger ones are refused with 431."""
    max_connections: Annotated[Count, Field(ge=1)] = 12_000
    """The most connections at the same time; more are refused with 503. An agent keeps two. It is lowered to what the
    account may open (`ulimit -n`), less 256 for files."""
    header_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 10.0
    """A connection whose request has no complete headers after this time is closed, with 408."""
    body_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 60.0
    """A connection whose request has no complete body after this time is closed, with 408."""
    check_timeout: Annotated[Duration, Field(ge=0.1, le=3600)] = 10.0
    """How much CPU time reading and checking one body may take; one that needs more is refused with 422."""
    max_batch: Annotated[Count, Field(ge=1)] = 500
    """The most workloads in one submission."""
    max_replicas: Annotated[Count, Field(ge=1)] = 10_000
    """The most replicas of one workload."""
    max_streams: Annotated[Count, Field(ge=1)] = 256
    """The most streams of events and output that one client address has open; another one is refused with 429."""
    max_batch_replicas: Annotated[Count, Field(ge=1)] = 50_000
    """The most replicas of all workloads in one submission, together."""
    max_tasks: Annotated[Count, Field(ge=1)] = 500_000
    """The most tasks that wait or run at the same time; a submission beyond them is refused with 409."""
