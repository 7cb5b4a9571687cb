"""Terms: the part of a workload's definition that the engine needs. A restart restores it from JSON."""

import json
from dataclasses import dataclass, fields
from functools import lru_cache

from dovetail.model.requests.shape import Shape


@dataclass(frozen=True, slots=True)
class Terms:
    """Equal for workloads that differ only in name, so they are created and stored once."""

    shape: Shape
    retries: int = 0
    queue: str | None = None  # as written by the user
    user: str | None = None
    tenant: str = ""  # the tenant of the fair order
    run_s: float | None = None  # declared
    schedule_within_s: float | None = None
    finish_within_s: float | None = None
    gang_min: int = 0  # of its own tasks
    group: str = ""
    group_min: int = 0  # of the tasks of the whole group
    loose: bool = False  # a gang only for its start
    concurrency: int = 0  # 0: no limit
    preemptible: bool = True
    may_preempt: bool = True  # it may preempt other work
    max_unavailable: int = 0  # 0: no limit
    min_run_s: float = 0.0
    checkpoint_s: float = 0.0
    labels: tuple[tuple[str, str], ...] = ()  # of the workload, for affinity rules of others
    policies: tuple[str, ...] = ()  # named by the workload
    restart_always: bool = False  # its tasks start again whenever they have ended
    priority: int | None = None  # Kubernetes priority: a higher number is more urgent

    @staticmethod
    def from_json(text: str) -> "Terms":
        found = json.loads(text)
        shape = Shape.from_json(json.dumps(found.pop("shape")))
        labels = tuple((key, value) for key, value in found.pop("labels", ()))
        return Terms(shape, **found | {"labels": labels, "policies": tuple(found.get("policies", ()))})


_OPTIONAL = tuple((field.name, field.default) for field in fields(Terms) if field.name not in ("shape", "retries"))


@lru_cache(maxsize=4096)
def terms_json(terms: Terms) -> str:
    """The inverse of `Terms.from_json`, cached."""
    more = {name: value for name, default in _OPTIONAL if (value := getattr(terms, name)) != default}
    rest = f",{json.dumps(more, separators=(',', ':'))[1:-1]}" if more else ""
    return f'{{"retries":{terms.retries}{rest},"shape":{terms.shape.to_json()}}}'
