"""The definition of a service: replicas that stay up, how they are updated, and how many there are."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dovetail.model.services.health import NO_HEALTH, Health, Port, UrlPath, check_ports
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import MAX_NAME, AtField, Name, Strict, shared
from dovetail.model.workloads.workload import TaskTemplate

MAX_PORTS = 20
#: Room in a name for the revision and the index of a replica: `-r123456-12345`.
MAX_SERVICE_NAME = MAX_NAME - 16


class UpdateStrategy(StrEnum):
    ROLLING = "rolling"
    BLUE_GREEN = "blue_green"


class Update(Strict):
    """How a new version replaces the old one. `rolling`: some replicas at a time, with at most `max_unavailable` of
    them missing and at most `max_surge` more than asked for. `blue_green`: all new replicas beside the old ones, and
    traffic moves to them at once when all are ready.

    A replica counts after it was ready for `min_ready`. If no further replica becomes ready within `healthy_within`,
    the update has failed: with `rollback` the version before comes back. `drain`: how long a replica gets no new
    traffic before it is stopped."""

    strategy: UpdateStrategy = UpdateStrategy.ROLLING
    max_unavailable: Count = 0
    max_surge: Count = 1
    min_ready: Duration = 0.0
    healthy_within: Annotated[Duration, Field(ge=1)] = 300.0
    rollback: bool = True
    drain: Annotated[Duration, Field(le=3600)] = 2.0

    @model_validator(mode="after")
    def _can_move(self) -> Self:
        if self.strategy is UpdateStrategy.ROLLING and not self.max_unavailable and not self.max_surge:
            raise ValueError("max_unavailable and max_surge are both 0, so nothing could be replaced; raise one")
        return self


class Query(Strict):
    """A number from elsewhere: the answer to a GET of `url` is a number, or the answer of Prometheus to a query."""

    url: Annotated[str, Field(pattern=r"^https?://", max_length=4000)]


class Scrape(Strict):
    """A counter that each replica shows in the Prometheus format, such as `http_requests_total`: its rate a second."""

    counter: Annotated[str, Field(pattern=r"^[A-Za-z_:][A-Za-z0-9_:]*$", max_length=200)]
    path: UrlPath = "/metrics"
    port: Name | None = None


class Autoscale(Strict):
    """The number of replicas follows a signal: so many that each has `target` of it. `cpu`: the cores that a replica
    uses, as a part of those it asks for. `query`: any number, such as the length of a queue. `requests`: the rate of a
    counter. It grows at once, to twice as many at most, and shrinks when the signal was low for `calm`."""

    min: Annotated[Count, Field(ge=1)] = 1
    max: Annotated[Count, Field(ge=1)]
    target: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
    cpu: Literal[True] | None = None
    query: Query | None = None
    requests: Scrape | None = None
    every: Annotated[Duration, Field(ge=1, le=3600)] = 15.0
    calm: Duration = 300.0
    tolerance: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.1

    @model_validator(mode="after")
    def _check_signal(self) -> Self:
        given = [name for name in ("cpu", "query", "requests") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of cpu, query, requests; got {' and '.join(given) or 'none'}")
        if self.max < self.min:
            raise AtField(("max",), f"is below min: {self.min}")
        return self


class Service(TaskTemplate):
    """`replicas` tasks that are kept up: one that ends is started again, with growing pauses. Replicas are spread over
    nodes, and over racks and zones where nodes have these labels, unless `spread` or `affinity` says otherwise."""

    kind: Literal["service"] = "service"
    replicas: Annotated[Count, Field(le=10_000)] = 1
    ports: Annotated[list[Port], Field(max_length=MAX_PORTS)] = shared([])
    health: Health = NO_HEALTH
    update: Update = shared(Update())
    autoscale: Autoscale | None = None

    @model_validator(mode="after")
    def _check_service(self) -> Self:
        if len(self.name) > MAX_SERVICE_NAME:
            raise AtField(("name",), f"is {len(self.name)} characters long; a service's has at most {MAX_SERVICE_NAME}")
        check_ports(self.ports, self.health)
        scrape = None if self.autoscale is None else self.autoscale.requests
        if scrape is not None and (not self.ports or scrape.port not in (None, *[port.name for port in self.ports])):
            raise AtField(("autoscale", "requests", "port"), "is none of the ports of the service; give one in ports")
        if self.autoscale is not None and self.autoscale.cpu and not self.resources.cpu:
            raise AtField(("autoscale", "cpu"), "is a part of the cores asked for, and it asks for none: resources.cpu")
        return self
