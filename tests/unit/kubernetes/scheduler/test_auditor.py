"""Only what lasts is drift."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from dovetail.kubernetes.scheduler.audit import LOOKS, Auditor, Difference
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import ApiUnreachable

LOST = Difference("pod default/a", "is gone from the API, and known here")
ELSEWHERE = Difference("pod default/a", "is on n1 in the API, on n2 here")
ANOTHER = Difference("node n1 taints", "differ")


class Watched(Auditor):
    """Sees what it is given to see, look by look; `interrupted`: with a watch that breaks at each of them."""

    interrupted = False

    def __init__(self, *looks: list[Difference] | Exception) -> None:
        self.cluster = SimpleNamespace(troubles=0)
        super().__init__(cast("Api", None), cast("ClusterInformer", self.cluster), (), between_looks_s=0.0)
        self.looks: list[list[Difference] | Exception] = list(looks)

    async def look(self) -> list[Difference]:
        found = self.looks.pop(0)
        self.cluster.troubles += self.interrupted
        if isinstance(found, Exception):
            raise found
        return found


def test_where_nothing_differs_one_look_is_enough() -> None:
    auditor = Watched([])
    assert asyncio.run(auditor.audit()) == []
    assert (auditor.audits, auditor.drift) == (1, 0)


def test_what_is_there_at_every_look_is_drift_whatever_is_said_of_it() -> None:
    auditor = Watched([LOST, ANOTHER], [LOST], [ELSEWHERE, ANOTHER])
    assert asyncio.run(auditor.audit()) == [ELSEWHERE]
    assert (auditor.audits, auditor.drift, auditor.last) == (1, 1, [ELSEWHERE])


def test_what_comes_and_goes_is_none() -> None:
    auditor = Watched([LOST], [ANOTHER])
    assert asyncio.run(auditor.audit()) == []
    auditor.looks = [*([LOST] for _ in range(LOOKS - 1)), [ANOTHER]]
    assert asyncio.run(auditor.audit()) == []
    assert (auditor.audits, auditor.drift, auditor.last) == (2, 0, [])


def test_while_watches_are_interrupted_nothing_is_said() -> None:
    auditor = Watched(*[[LOST] for _ in range(LOOKS)])
    auditor.interrupted = True
    assert asyncio.run(auditor.audit()) == []
    assert (auditor.audits, auditor.drift) == (0, 0)


def test_an_api_that_cannot_be_read_is_no_drift_and_the_next_audit_comes() -> None:
    auditor = Watched(ApiUnreachable("no answer"), [])

    async def twice() -> None:
        with pytest.raises(IndexError):  # there is nothing to see at the third
            await auditor.run(0.001)

    asyncio.run(twice())
    assert (auditor.audits, auditor.drift) == (1, 0)


def test_one_that_is_switched_off_never_looks() -> None:
    auditor = Watched([LOST])
    asyncio.run(auditor.run(0))
    assert auditor.audits == 0
