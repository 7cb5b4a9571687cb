"""One HTTP conversation with a server: addresses, names and models as they are sent, retries, errors as exceptions.

Guarantees: a call that may be repeated without harm is tried again after a lost connection, a few times and with
pauses; any other call is made once. Every answer that is not a success becomes `DovetailError`, a missing one
`ConnectError`. What the routes mean is left to `client`.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote, urlsplit

from dovetail.client.errors import BadAnswer, ConnectError, DovetailError, NoAnswer

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8080"
API = "/api/v1"
PAUSES_S = (0.2, 0.5)  # before the second and the third try
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def checked_url(url: str | None) -> str:
    """The address of the server, without a path's last slash. Raises ValueError."""
    found = (url or os.environ.get("DOVETAIL_URL") or DEFAULT_URL).strip().rstrip("/")
    try:
        parts = urlsplit(found)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"{found!r} is not the address of a server; write it like {DEFAULT_URL}")
    return found


class Transport:
    def __init__(self, url: str | None, token: str | None, timeout_s: float) -> None:
        import httpx

        self.url = checked_url(url)
        self._timeout_s = timeout_s
        token = token if token is not None else os.environ.get("DOVETAIL_TOKEN")
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        parts = urlsplit(self.url)
        self.http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=timeout_s,
            trust_env=parts.hostname not in _LOOPBACK,  # a proxy set for the network must not swallow this machine
            verify=parts.scheme == "https",  # reading certificates that nobody will look at takes longer than asking
        )

    def close(self) -> None:
        self.http.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> "httpx.Response":
        """The server's answer. `repeatable`: sending it twice does no more than sending it once."""
        import httpx
        import orjson

        sent = dict(headers or {})
        if json is not None:
            content = orjson.dumps(json)
            sent.setdefault("Content-Type", "application/json")
        request = {"params": _given(params), "content": content, "headers": sent}
        pauses_s = PAUSES_S if repeatable or method == "GET" else ()
        for pause_s in (*pauses_s, None):
            try:
                return self._checked(self.http.request(method, path, **request))  # type: ignore[arg-type]
            except (httpx.ReadTimeout, httpx.WriteTimeout) as error:
                # Asking a busy server again makes it no faster.
                raise NoAnswer(self.url, f"{self._timeout_s:g} s") from error
            except httpx.TransportError as error:
                if pause_s is None:
                    raise ConnectError(self.url, _why(error)) from error
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def json(self, kind: type[T], method: str, path: str, **how: Any) -> T:  # noqa: ARG002 - for the type checker
        """The body of the answer. It is not checked against `kind`: a newer server may have added fields."""
        import orjson

        answer = self.ask(method, path, **how)
        try:
            return cast("T", orjson.loads(answer.content))
        except orjson.JSONDecodeError:
            found = answer.headers.get("content-type", "something")
            raise BadAnswer(self.url, f"with {found} where JSON was expected") from None

    def items(self, kind: type[T], path: str, params: Mapping[str, Any] | None = None) -> list[T]:  # noqa: ARG002
        """The items of a list (`dovetail.responses.ItemList`)."""
        found: list[T] = self.json(dict[str, Any], "GET", path, params=params)["items"]
        return found

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> "Iterator[httpx.Response]":
        """An answer that goes on. Raises like `ask`; not repeated: the caller knows how far it came."""
        import httpx

        timeout = httpx.Timeout(self.http.timeout.connect, read=None)
        try:
            with self.http.stream(
                "GET", path, params=_given(params), headers=dict(headers or {}), timeout=timeout
            ) as answer:
                if not answer.is_success:
                    answer.read()
                yield self._checked(answer)
        except httpx.TransportError as error:
            raise ConnectError(self.url, _why(error)) from error

    def _checked(self, answer: "httpx.Response") -> "httpx.Response":
        if answer.is_success:
            return answer
        import orjson

        try:
            problem = orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            problem = None
        if not isinstance(problem, dict) or "status" not in problem:
            raise BadAnswer(self.url, f"{answer.status_code} {answer.reason_phrase} without saying why")
        raise DovetailError(problem)


def _why(error: "httpx.TransportError") -> str:
    """httpx leaves some messages empty; the kind of error then says more than nothing."""
    return str(error) or type(error).__name__


def _given(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Only what was asked for; true and false as the server reads them."""
    given = {name: value for name, value in (params or {}).items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


def segment(text: str, what: str) -> str:
    """One segment of a path. `.` and `..` are refused, because every proxy would resolve them as steps of the path."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is not the name of a {what}")
    return quote(text, safe="")


def written(what: Any) -> Any:
    """A model as the fields that were set; a mapping as it is; a sequence item by item."""
    if isinstance(what, Mapping):
        return dict(what)
    if hasattr(what, "model_dump"):
        return what.model_dump(mode="json", exclude_unset=True)
    return [written(item) for item in what]


def events_in(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The data of each event. Comments, which only keep the connection alive, are passed over."""
    import orjson

    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield orjson.loads("\n".join(data))
            data = []
