"""One HTTP conversation with a server: names, lists and models as they are sent, retries, errors as exceptions.

Guarantees: a call that may be repeated without harm is tried again after a lost connection, a few times and with
pauses; any other call is made once. Every answer that is not a success becomes `DovetailError`, a missing one
`ConnectError`. What the routes mean is left to `calls`.
"""

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from json import dumps, loads
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from dovetail import __version__
from dovetail.client.errors import BadAnswer, ConnectError, DovetailError, NoAnswer
from dovetail.client.transport.connector import Connector
from dovetail.client.transport.credentials import credentials_for
from dovetail.client.transport.exchange import (
    AnswerLate,
    AnswerLost,
    BlockingExchange,
    HttpRequest,
    ServerAnswer,
    Unreachable,
)

DEFAULT_URL = "http://127.0.0.1:8080"
API = "/api/v1"
_UNAUTHORIZED = 401
PAUSES_S = (0.2, 0.5)  # before the second and the third try


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
    """`pauses_s`: before each further try of what may be repeated. `certificate`: a file with the only one that the
    server may have; else that of a server of this account, or one that an authority has signed."""

    def __init__(
        self,
        url: str | None,
        token: str | None,
        timeout_s: float,
        pauses_s: Sequence[float] = PAUSES_S,
        certificate: str | None = None,
    ) -> None:
        self.url = checked_url(url)
        self._pauses_s = pauses_s
        self._timeout_s = timeout_s
        self._is_given = bool(token)
        found = credentials_for(self.url, token)
        self._headers = {"Accept": "application/json", "User-Agent": f"dovetail/{__version__}"}
        if found.token:
            self.use_token(found.token)
        self._exchange = BlockingExchange(Connector(self.url, timeout_s, certificate or found.certificate), timeout_s)
        #: Around every request that waits for its answer; a command line can say there that it waits.
        self.while_asking: Callable[[], AbstractContextManager[None]] = nullcontext

    def use_token(self, token: str) -> None:
        """From the next request on."""
        self._headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self._exchange.close()

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
    ) -> ServerAnswer:
        """The server's answer. `repeatable`: sending it twice does no more than sending it once."""
        sent = {**self._headers, **(headers or {})}
        if json is not None:
            content = dumps(json, ensure_ascii=False, default=_plain).encode()
            sent.setdefault("Content-Type", "application/json")
        request = HttpRequest(method, _target(path, params), sent, content or b"")
        pauses_s = self._pauses_s if repeatable or method == "GET" else ()
        with self.while_asking():
            return self._answer(request, pauses_s)

    def _answer(self, request: HttpRequest, pauses_s: Sequence[float]) -> ServerAnswer:
        for pause_s in (*pauses_s, None):
            try:
                with self._sent(request) as answer:
                    answer.receive_body()
                return self._checked(answer)
            except AnswerLate as error:
                # Asking a busy server again makes it no faster.
                raise NoAnswer(self.url, f"{self._timeout_s:g} s") from error
            except (Unreachable, AnswerLost) as error:
                if pause_s is None:
                    raise ConnectError(self.url, str(error)) from error
                time.sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def json(self, method: str, path: str, **how: Any) -> Any:
        """The body of the answer. It is not checked: a newer server may have added fields."""
        answer = self.ask(method, path, **how)
        try:
            return loads(answer.content)
        except ValueError:
            found = answer.headers.get("content-type", "something")
            raise BadAnswer(self.url, f"with {found} where JSON was expected") from None

    def items(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The items of a list (`dovetail.responses.ItemList`)."""
        return self.json("GET", path, params=params)["items"]

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Iterator[ServerAnswer]:
        """An answer that goes on. Raises like `ask`; not repeated: the caller knows how far it came."""
        sent = {**self._headers, **(headers or {})}
        request = HttpRequest("GET", _target(path, params), sent, streams=True)
        try:
            with self._sent(request) as answer:
                yield self._checked(answer)
        except AnswerLate as error:
            raise NoAnswer(self.url, f"{self._timeout_s:g} s") from error
        except (Unreachable, AnswerLost) as error:
            raise ConnectError(self.url, str(error)) from error

    @contextmanager
    def _sent(self, request: HttpRequest) -> Iterator[ServerAnswer]:
        """One exchange: the head of the answer has come, its body may be read inside the block."""
        connection, answer = self._exchange.connect(), None
        try:
            answer = self._exchange.send(connection, request)
            if answer.status == _UNAUTHORIZED and self._found_another_token():
                answer.receive_body()
                if answer.reusable:
                    renewed = request._replace(headers={**request.headers, **self._authorization()})
                    answer = self._exchange.send(connection, renewed)
            yield answer
        finally:
            self._exchange.finish(connection, answer)

    def _found_another_token(self) -> bool:
        """Whether the token was rotated since this client began, and the new one found as the first was."""
        found = None if self._is_given else credentials_for(self.url).token
        if not found or self._authorization() == {"Authorization": f"Bearer {found}"}:
            return False
        self.use_token(found)
        return True

    def _authorization(self) -> dict[str, str]:
        return {name: value for name, value in self._headers.items() if name == "Authorization"}

    def _checked(self, answer: ServerAnswer) -> ServerAnswer:
        if answer.is_success:
            return answer
        try:
            problem = loads(answer.content)
        except ValueError:
            problem = None
        if not isinstance(problem, dict) or "status" not in problem:
            raise BadAnswer(self.url, f"{answer.status} {answer.reason} without saying why")
        raise DovetailError(problem)


def _target(path: str, params: Mapping[str, Any] | None) -> str:
    given = _given(params)
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _given(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Only what was asked for; true and false as the server reads them."""
    given = {name: value for name, value in (params or {}).items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


def _plain(value: object) -> object:
    """What JSON has no word for: times, identifiers, members of an enumeration."""
    if callable(written := getattr(value, "isoformat", None)):
        return written()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"a request cannot carry a {type(value).__name__}; write it as text, a number, a list or a mapping")


def segment(text: str, what: str) -> str:
    """One segment of a path. `.` and `..` are refused, because every proxy would resolve them as steps of the path."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is not the name of a {what}")
    return quote(text, safe="")


def page_params(search: str, sort: str, limit: int | None, offset: int) -> dict[str, Any]:
    """Which rows of a list, in which order, which part of them; what is not asked for is left out."""
    return {"search": search or None, "sort": sort or None, "limit": limit, "offset": offset or None}


def written(what: Any) -> Any:
    """A model as the fields that were set; a mapping as it is; a sequence item by item."""
    if isinstance(what, Mapping):
        return dict(what)
    if hasattr(what, "model_dump"):
        return what.model_dump(mode="json", exclude_unset=True)
    return [written(item) for item in what]


def as_body(work: Any) -> dict[str, Any]:
    """How `ask` sends work: bytes are YAML as it stands in a file, anything else is `written` as JSON."""
    if isinstance(work, bytes):
        return {"content": work, "headers": {"Content-Type": "application/yaml"}}
    return {"json": written(work)}


def events_in(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The data of each event. Comments, which only keep the connection alive, are passed over."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield loads("\n".join(data))
            data = []
