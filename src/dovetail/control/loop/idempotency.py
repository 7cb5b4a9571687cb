"""Submissions that may be repeated: the key a caller gives one, and the answer that is kept under it."""

from dataclasses import dataclass

import orjson

from dovetail.model.text.complaint import Complaint, Invalid


@dataclass(frozen=True, slots=True)
class AcceptedSubmission:
    id: int
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """`request`: a digest of what was sent under this name."""

    name: str
    request: str = ""

    def check_same(self, request: str) -> None:
        """Raises Invalid if the first request under this name was another one."""
        if request and self.request and request != self.request:
            words = "was used before for another submission; give each submission a key of its own"
            raise Invalid([Complaint("header", None, "Idempotency-Key", words)])

    def answer_text(self, accepted: list[AcceptedSubmission]) -> str:
        """The first answer, as the store keeps it."""
        rows = [[one.id, one.namespace, one.name] for one in accepted]
        return orjson.dumps({"request": self.request, "accepted": rows}).decode()

    def first_answer(self, text: str) -> list[AcceptedSubmission]:
        """The answer that the store kept. Raises Invalid if it was given to another request."""
        kept = orjson.loads(text)
        if isinstance(kept, list):  # as version 0.1 stored it
            kept = {"request": "", "accepted": kept}
        self.check_same(kept["request"])
        return [AcceptedSubmission(*row) for row in kept["accepted"]]
