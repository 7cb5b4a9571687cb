"""Measures what services scale by: a number from a URL, the rate of a counter that replicas show, or cores in use.

Guarantees: a signal that cannot be measured is None with a reason, never a guess. Answers are bounded in time and size.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families

from dovetail.control.service_controller.book import ReplicaView
from dovetail.model.services.service import Autoscale, Query, Scrape, Service

TIMEOUT_S = 5.0
MOST_BYTES = 4 * 2**20


class Measured(NamedTuple):
    """The signal of one replica in the mean; None where `trouble` says why it is not known."""

    per_replica: float | None
    trouble: str = ""


class _Count(NamedTuple):
    at: float
    value: float


@dataclass(slots=True)
class SignalMeter:
    """`cores_of`: the cores that an attempt uses, by its key; None where nobody measures them."""

    cores_of: Callable[[str], float | None]
    _counts: dict[str, _Count] = field(default_factory=dict)  # by attempt
    _client: httpx.AsyncClient | None = None

    async def measure(
        self, policy: Autoscale, service: Service, replicas: Iterable[ReplicaView], now: float
    ) -> Measured:
        ready = [one for one in replicas if one.ready]
        if policy.query is not None:
            value = await self._asked(policy.query)
            if isinstance(value, str):
                return Measured(None, value)
            return Measured(value / max(1, len(ready)))
        if not ready:
            return Measured(None, "no replica is ready")
        if policy.requests is not None:
            return await self._rate(policy.requests, service, ready, now)
        used = [cores for one in ready if (cores := self.cores_of(one.key)) is not None]
        if not used:
            return Measured(None, "nobody measures the cores of its replicas")
        return Measured(sum(used) / len(used) / service.resources.cpu)

    async def _asked(self, query: Query) -> float | str:
        content = await self._fetched(query.url)
        return content if isinstance(content, str) else number_in(content)

    async def _rate(self, scrape: Scrape, service: Service, ready: list[ReplicaView], now: float) -> Measured:
        port_name = scrape.port or service.ports[0].name
        rates, trouble = [], ""
        for one in ready:
            host = one.address or ""
            url = f"http://{f'[{host}]' if ':' in host else host}:{one.ports.get(port_name)}{scrape.path}"
            content = await self._fetched(url)
            value = content if isinstance(content, str) else counter_in(content, scrape.counter)
            if isinstance(value, str):
                trouble = value
                continue
            before, self._counts[one.key] = self._counts.get(one.key), _Count(now, value)
            if before is not None and now > before.at:
                grown = value - before.value if value >= before.value else value  # it started again at 0
                rates.append(grown / (now - before.at))
        live = {one.key for one in ready}
        self._counts = {key: count for key, count in self._counts.items() if key in live}
        if not rates:
            return Measured(None, trouble or "measured for the first time")
        return Measured(sum(rates) / len(rates))

    async def _fetched(self, url: str) -> bytes | str:
        """The body of the answer, or what was wrong."""
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        try:
            async with self._client.stream("GET", url) as answer:
                if answer.status_code != httpx.codes.OK:
                    return f"{url} answers {answer.status_code}"
                content = b""
                async for block in answer.aiter_bytes():
                    content += block
                    if len(content) > MOST_BYTES:
                        return f"{url} answers with more than {MOST_BYTES} bytes"
                return content
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return f"{url} does not answer: {error or type(error).__name__}"

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def number_in(content: bytes) -> float | str:
    """A plain number, or the sum of the values in the answer of Prometheus to a query."""
    try:
        found = json.loads(content)
    except ValueError:
        return f"the answer is no number: {content[:40]!r}"
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found)
    try:
        data = found["data"]
        values = [data["result"]] if data["resultType"] == "scalar" else [one["value"] for one in data["result"]]
        return sum(float(value) for _, value in values)
    except (KeyError, TypeError, ValueError, IndexError):
        return f"the answer is neither a number nor one of Prometheus: {content[:40]!r}"


def counter_in(content: bytes, name: str) -> float | str:
    """The sum of a counter over all its labels, in the text format of Prometheus."""
    try:
        families = text_string_to_metric_families(content.decode())
        values = [sample.value for family in families for sample in family.samples if sample.name in _names(name)]
    except (ValueError, UnicodeDecodeError, KeyError, IndexError):
        return "the metrics cannot be read"
    return sum(values) if values else f"the metrics have no {name}"


def _names(name: str) -> Mapping[str, None]:
    """A counter may be written with or without `_total`."""
    return dict.fromkeys((name, f"{name}_total"))
