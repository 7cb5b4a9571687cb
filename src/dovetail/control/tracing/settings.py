"""Settings of the subsystem `tracing`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import AtField, Strict

FilePath = Annotated[str, Field(min_length=1, max_length=3000)]
MOST_HEADERS = 100


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # a package above it
        return False


class TracingSettings(Strict):
    endpoint: Annotated[str, Field(min_length=1, max_length=3000)]
    """Where traces are sent: the address of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318/v1/traces`."""
    sample: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1.0
    """The share of workloads that are traced, 0 to 1. A client that sends a `traceparent` decides by itself."""
    tasks: Annotated[Count, Field(ge=1, le=1000)] = 8
    """The first tasks of a workload have spans, so many at most."""
    headers_file: FilePath | None = None
    """A file with headers for the receiver, such as a key, one `Name: value` a line. It is read at each start."""
    ca_file: FilePath | None = None
    """The CA that signed the certificate of the receiver, a PEM file; by default those that the machine trusts."""
    timeout: Annotated[Duration, Field(ge=0.1, le=600)] = 10.0
    """How long sending may take before it is tried again."""
    service_name: Annotated[str, Field(min_length=1, max_length=200)] = "dovetail"
    """The name of this server in traces: the attribute `service.name`."""
    environment: bool = True
    """Give traced tasks a variable `TRACEPARENT`, so that programs that know OpenTelemetry continue the trace."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        parts = urlsplit(self.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AtField(("endpoint",), "is no address; write it as http://HOST:4318/v1/traces")
        self.headers()
        if not _is_installed("opentelemetry.sdk") or not _is_installed("opentelemetry.exporter.otlp.proto.http"):
            raise AtField(("endpoint",), "needs OpenTelemetry; install it with: pip install 'dovetail-scheduler[otel]'")
        return self

    def headers(self) -> dict[str, str]:
        """Those of the file. Raises AtField."""
        if self.headers_file is None:
            return {}
        try:
            lines = Path(self.headers_file).expanduser().read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise AtField(("headers_file",), f"cannot be read: {error}") from None
        found: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            name, colon, value = line.partition(":")
            if line.strip() and not (colon and name.strip() and value.strip()):
                raise AtField(("headers_file",), f"line {number} is no header; write it as Name: value")
            if line.strip():
                found[name.strip().lower()] = value.strip()
        if len(found) > MOST_HEADERS:
            raise AtField(("headers_file",), f"has {len(found)} headers; at most {MOST_HEADERS} are sent")
        return found
