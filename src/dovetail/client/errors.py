"""What can go wrong when a server is asked.

`DovetailError` is the server's own answer, a problem document; `ConnectError` means that no answer came. Both are
sentences that can be shown to a person as they are.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.model.text.complaint import Complaint


class DovetailError(Exception):
    """The server said no. `status` is the HTTP status, `complaints` what is wrong with what was sent."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem)
        self.problem = problem

    @property
    def status(self) -> int:
        return int(self.problem.get("status", 500))

    @property
    def slug(self) -> str:
        """The kind of problem in one word, such as `not-found` or `invalid`."""
        return str(self.problem.get("type", "")).rpartition(":")[2]

    @property
    def title(self) -> str:
        return str(self.problem.get("title", ""))

    @property
    def detail(self) -> str:
        return str(self.problem.get("detail") or self.title)

    @property
    def complaints(self) -> "list[Complaint]":
        return [_complaint(error) for error in self.problem.get("errors") or [] if isinstance(error, dict)]

    def __str__(self) -> str:
        return self.detail


class ConnectError(Exception):
    """No answer from the server."""

    sentence = "cannot reach {} ({}); is the server running? start it with: dovetail serve"

    def __init__(self, url: str, why: str) -> None:
        super().__init__(self.sentence.format(url, why))
        self.url = url


class NoAnswer(ConnectError):
    """The server took the request and was not heard from in time; whether it did what was asked is not known."""

    sentence = "{} did not answer within {}; it may be busy, try again"


class BadAnswer(ConnectError):
    """Something answers there, but it is not a Dovetail server, or something between is not."""

    sentence = "{} answered {}; is that a Dovetail server? check the address"


def _complaint(error: dict[str, Any]) -> "Complaint":
    from dovetail.model.text.complaint import Complaint

    line = error.get("line")
    return Complaint(
        source=str(error.get("source") or ""),
        line=line if isinstance(line, int) else None,
        field=str(error.get("field") or ""),
        message=str(error.get("message") or ""),
        accepted=tuple(str(word) for word in error.get("accepted") or ()),
        detail=str(error.get("detail") or ""),
    )
