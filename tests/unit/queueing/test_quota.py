"""Limits of queues and users, and what may be taken back from whom."""

from typing import Any

from dovetail.queueing.quota import OverQuota, Quotas
from dovetail.queueing.settings import QueueSettings
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import Usage

CAPACITY = {"cpu": 1e6, "gpu": 1e5}


class Scene:
    def __init__(self, **queues: dict[str, Any]) -> None:
        self.tree = QueueTree({name: QueueSettings.model_validate(written) for name, written in queues.items()})
        self.usage = Usage(self.tree, CAPACITY)
        self.quotas = Quotas(self.tree, self.usage)

    def gpus(self, path: str, count: int, user: str | None = None) -> None:
        self.usage.charge(self.tree.by_path[path], user, "tenant", {"gpu": 1000}, count, now=0)

    def over(self, path: str, count: int, user: str | None = None) -> OverQuota | None:
        return self.quotas.over(self.tree.by_path[path], user, {"gpu": 1000 * count, "cpu": 1000})

    def entitled(self, path: str, count: int) -> bool:
        return self.quotas.entitled(self.tree.by_path[path], {"gpu": 1000 * count, "cpu": 1000})

    def reclaimable(self, path: str, count: int) -> set[str]:
        found = self.quotas.reclaimable_from(self.tree.by_path[path], {"gpu": 1000 * count, "cpu": 1000})
        return {self.tree[code].path for code in found}


def research(**more: Any) -> dict[str, Any]:
    return {"queues": {"nlp": {"maximum": {"gpu": 64}}, "vision": {}}, **more}


def test_a_queue_may_be_filled_to_its_maximum_and_no_further() -> None:
    scene = Scene(research=research())
    scene.gpus("research/nlp", 56)
    assert scene.over("research/nlp", 8) is None
    found = scene.over("research/nlp", 9)
    assert found == OverQuota("research/nlp", "gpu", used=56_000, asked=9000, limit=64_000)
    assert found.message == "queue research/nlp: gpu 56 of 64 in use, 9 asked"


def test_the_message_says_who_borrows() -> None:
    scene = Scene(research=research(), ml={"guaranteed": {"gpu": 4}})
    scene.gpus("research/nlp", 60)
    scene.gpus("ml", 16)
    found = scene.over("research/nlp", 8)
    assert found is not None
    assert found.message == "queue research/nlp: gpu 60 of 64 in use, 8 asked; ml borrows 12"


def test_a_limit_above_counts_for_all_its_children_and_names_the_borrowers_below_it() -> None:
    limits = {"maximum": {"gpu": 10}, "queues": {"a": {"guaranteed": {"gpu": 4}}, "b": {}}}
    scene = Scene(top=limits, outside={})
    scene.gpus("top/b", 8)
    scene.gpus("outside", 3)
    found = scene.over("top/a", 3)
    assert found is not None
    assert found.message == "queue top: gpu 8 of 10 in use, 3 asked; top/b borrows 8"


def test_of_many_borrowers_the_largest_are_named() -> None:
    others: dict[str, dict[str, Any]] = {f"q{number}": {} for number in range(5)}
    scene = Scene(full={"maximum": {"gpu": 1}, "guaranteed": {"gpu": 1}}, **others)
    scene.gpus("full", 1)
    for number in range(5):
        scene.gpus(f"q{number}", 1 + number)
    found = scene.over("full", 1)
    assert found is not None
    assert found.message.endswith("; q4 borrows 5; q3 borrows 4; q2 borrows 3; 2 more borrow")


def test_asking_for_more_than_the_limit_itself_can_never_start() -> None:
    found = Scene(research=research()).over("research/nlp", 65)
    assert found is not None
    assert found.never
    assert found.message == "queue research/nlp: gpu 65 asked, the limit is 64; it can never start"


def test_a_maximum_of_nothing_keeps_out_whoever_asks_for_some_and_nobody_else() -> None:
    scene = Scene(cpu_only={"maximum": {"gpu": 0}})
    assert scene.over("cpu_only", 1) is not None
    assert scene.over("cpu_only", 0) is None


def test_a_lowered_maximum_stops_no_one_who_asks_for_other_things() -> None:
    scene = Scene(a={"maximum": {"gpu": 1}})
    scene.gpus("a", 2)
    assert scene.over("a", 0) is None


def test_each_user_has_a_limit_of_their_own_at_every_level() -> None:
    scene = Scene(top={"user_limits": {"gpu": 4}, "queues": {"a": {"user_limits": {"gpu": 3}}, "b": {}}})
    scene.gpus("top/a", 2, "ann")
    scene.gpus("top/b", 1, "ann")
    own, above = scene.over("top/a", 2, "ann"), scene.over("top/b", 2, "ann")
    assert own is not None
    assert own.message == "user ann in queue top/a: gpu 2 of 3 in use, 2 asked"
    assert above is not None
    assert above.message == "user ann in queue top: gpu 3 of 4 in use, 2 asked"
    assert scene.over("top/a", 2, "bob") is None


def test_leaving_the_user_out_is_no_way_around_the_limit() -> None:
    scene = Scene(a={"user_limits": {"gpu": 2}})
    scene.gpus("a", 2, None)
    found = scene.over("a", 1, None)
    assert found is not None
    assert found.message == "user (none given) in queue a: gpu 2 of 2 in use, 1 asked"


def test_a_queue_takes_no_more_workloads_than_it_or_one_above_allows() -> None:
    scene = Scene(top={"max_workloads": 3, "queues": {"a": {"max_workloads": 2}, "b": {}}})
    a, b, top = (scene.tree.by_path[path] for path in ("top/a", "top/b", "top"))
    waiting = {a: 2, b: 0, top: 2}
    crowded = scene.quotas.crowded(a, lambda code: waiting.get(code, 0))
    assert crowded == "queue top/a: 2 workloads wait, and it takes no more than 2"
    assert scene.quotas.crowded(b, lambda code: waiting.get(code, 0)) is None
    assert scene.quotas.crowded(b, lambda code: 3) is not None


def test_a_queue_may_reclaim_up_to_its_guarantee() -> None:
    scene = Scene(a={"guaranteed": {"gpu": 4}}, b={})
    scene.gpus("a", 2)
    assert scene.entitled("a", 2)
    assert not scene.entitled("a", 3)
    assert not scene.entitled("b", 1), "who is guaranteed nothing reclaims nothing"
    assert not scene.entitled("a", 0), "nothing that it is guaranteed is asked for"


def test_only_those_who_borrow_what_is_asked_must_give_back() -> None:
    scene = Scene(a={"guaranteed": {"gpu": 4}}, b={"guaranteed": {"gpu": 4}}, c={"guaranteed": {"gpu": 2}})
    scene.gpus("b", 4)
    scene.gpus("c", 3)
    assert scene.reclaimable("a", 4) == {"c"}
    assert scene.reclaimable("a", 5) == set(), "beyond its guarantee it has no claim"


def test_within_a_branch_that_keeps_to_its_guarantee_only_its_own_may_reclaim() -> None:
    inner = {"x": {"guaranteed": {"gpu": 2}}, "y": {"guaranteed": {"gpu": 2}}}
    scene = Scene(top={"queues": inner}, other={"guaranteed": {"gpu": 4}})
    scene.gpus("top/x", 4)
    assert scene.reclaimable("top/y", 2) == {"top/x"}
    assert scene.reclaimable("other", 4) == set(), "x has borrowed from y, and top has borrowed nothing"
    scene.gpus("top/x", 1)
    assert scene.reclaimable("other", 4) == {"top/x"}


def test_a_queue_may_use_the_guarantee_of_the_one_above_it_against_outsiders_only() -> None:
    scene = Scene(top={"guaranteed": {"gpu": 8}, "queues": {"x": {}, "y": {}}}, other={})
    scene.gpus("top/y", 2)
    scene.gpus("other", 8)
    assert scene.entitled("top/x", 6)
    assert not scene.entitled("top/x", 7)
    assert scene.reclaimable("top/x", 6) == {"other"}
