"""A `Status` becomes the error that a caller can act on."""

from typing import Any

import pytest

from dovetail.kubernetes_client.api import failure_of
from dovetail.kubernetes_client.errors import (
    AlreadyExists,
    Gone,
    KubernetesApiError,
    ObjectConflict,
    ObjectNotFound,
    ServerTrouble,
    Throttled,
    error_of,
)
from dovetail.kubernetes_client.exchange import HttpAnswer


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (404, {"reason": "ObjectNotFound", "code": 404}, ObjectNotFound),
        (409, {"reason": "AlreadyExists", "code": 409}, AlreadyExists),
        (409, {"reason": "ObjectConflict", "code": 409}, ObjectConflict),
        (410, {"reason": "Expired", "code": 410}, Gone),
        (410, {"reason": "Gone", "code": 410}, Gone),
        (429, {"reason": "TooManyRequests", "code": 429}, Throttled),
        (503, "<html>upstream is away</html>", ServerTrouble),
        (418, {}, KubernetesApiError),
    ],
)
def test_each_answer_has_its_error(status: int, answer: Any, kind: type[KubernetesApiError]) -> None:
    assert type(error_of(status, answer)) is kind


def test_when_to_come_back_is_kept_wherever_it_is_said() -> None:
    by_header = failure_of(HttpAnswer(429, b"", "3"))
    by_body = error_of(429, {"code": 429, "details": {"retryAfterSeconds": 5}})
    assert isinstance(by_header, Throttled)
    assert (by_header.retry_after_s, by_body.retry_after_s) == (3.0, 5.0)
