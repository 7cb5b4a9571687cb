"""Health checks of a service: how to ask a replica whether it is well, and what follows from its answers."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Name, Strict, shared
from dovetail.model.workloads.limits import MAX_LIST
from dovetail.model.workloads.run import Word

PortNumber = Annotated[int, Field(ge=1, le=65535)]


def _check_path(value: str) -> str:
    if not value.startswith("/") or not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError("is not a path of a URL; write it as /healthz, and other letters than ASCII as %C3%A4")
    return value


UrlPath = Annotated[str, AfterValidator(_check_path), Field(max_length=2000, json_schema_extra={"format": "url-path"})]


def _as_path(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _as_port(value: Any) -> Any:
    return {"port": value} if isinstance(value, str | int) and not isinstance(value, bool) else value


class TcpCheck(Strict):
    """Well if the port accepts a connection. `port`: a name among `ports` or a number; by default the first port."""

    port: Name | PortNumber | None = None


class HttpCheck(Strict):
    """Well if a GET of this path is answered with a status from 200 to 399. `host`: the Host header, if it matters."""

    path: UrlPath = "/"
    port: Name | PortNumber | None = None
    host: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9.:\[\]_-]+$")] | None = None


class GrpcCheck(Strict):
    """Well if the gRPC health service says SERVING, of this `service` or of all."""

    port: Name | PortNumber | None = None
    service: Annotated[str, Field(max_length=200)] = ""


_WAYS = ("tcp", "http", "grpc", "command")


class HealthCheck(Strict):
    """One way to ask, and how often. After `failures` bad answers in a row a replica counts as unwell, after
    `successes` good ones as well. `command` runs where the replica runs; it is well if it exits with 0."""

    tcp: Annotated[TcpCheck, BeforeValidator(_as_port, json_schema_input_type=TcpCheck | Name | PortNumber)] | None = (
        None
    )
    http: Annotated[HttpCheck, BeforeValidator(_as_path, json_schema_input_type=HttpCheck | UrlPath)] | None = None
    grpc: (
        Annotated[GrpcCheck, BeforeValidator(_as_port, json_schema_input_type=GrpcCheck | Name | PortNumber)] | None
    ) = None
    command: Annotated[list[Word], Field(min_length=1, max_length=MAX_LIST)] | None = None
    every: Annotated[Duration, Field(ge=0.1, le=3600)] = 5.0
    timeout: Annotated[Duration, Field(ge=0.05, le=600)] = 2.0
    successes: Annotated[Count, Field(ge=1, le=100)] = 1
    failures: Annotated[Count, Field(ge=1, le=10_000)] = 3

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [way for way in _WAYS if getattr(self, way) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(_WAYS)}; got {' and '.join(given) or 'none'}")
        return self

    @property
    def port(self) -> str | int | None:
        """The port that it asks; None for the first one, and for a command."""
        for way in (self.tcp, self.http, self.grpc):
            if way is not None:
                return way.port
        return None


class Health(Strict):
    """`startup`: until it is well, the others are not asked; one that never is is started again. `readiness`: a replica
    that is unwell gets no traffic. `liveness`: one that is unwell is started again. Without `readiness` a replica is
    ready when it has started."""

    startup: HealthCheck | None = None
    readiness: HealthCheck | None = None
    liveness: HealthCheck | None = None


class Port(Strict):
    """A port on which each replica listens. Without `port` each replica is given one of its own, in the variable
    `PORT_NAME` (and `PORT`, for the first)."""

    name: Name
    port: PortNumber | None = None
    protocol: Literal["tcp", "udp"] = "tcp"

    @property
    def variable(self) -> str:
        """The variable of a replica that has its number."""
        return f"PORT_{re.sub('[^A-Za-z0-9]', '_', self.name).upper()}"


def check_ports(ports: list[Port], health: Health) -> None:
    """Raises AtField where names repeat, or a check asks a port that there is not."""
    seen: set[str] = set()
    variables: dict[str, str] = {}
    for index, port in enumerate(ports):
        if port.name in seen:
            raise AtField(("ports", index, "name"), f"{port.name!r} is given twice; a port has a name of its own")
        seen.add(port.name)
        other = variables.setdefault(port.variable, port.name)
        if other != port.name:
            words = f"{port.name!r} and {other!r} would both be in the variable {port.variable}; choose another name"
            raise AtField(("ports", index, "name"), words)
    numbers = [(port.port, port.protocol) for port in ports]
    for index, number in enumerate(numbers):
        if number[0] is not None and number in numbers[:index]:
            raise AtField(("ports", index, "port"), f"{number[0]} is given twice; a replica listens there once")
    for name in ("startup", "readiness", "liveness"):
        check: HealthCheck | None = getattr(health, name)
        if check is None or check.command is not None:
            continue
        way = next(way for way in _WAYS if getattr(check, way) is not None)
        if check.port is None and not ports:
            raise AtField(("health", name, way), "asks a port, and the service has none; give ports, or port here")
        if isinstance(check.port, str) and check.port not in seen:
            known = f"it has {', '.join(sorted(seen))}" if seen else "it has none"
            raise AtField(("health", name, way, "port"), f"the service has no port {check.port!r}; {known}")


NO_HEALTH: Any = shared(Health())
