"""What the engine needs of a workload's definition, in a form that a restart can restore without the definition."""

import json
from dataclasses import dataclass, fields
from functools import lru_cache

from dovetail.model.requests.shape import Shape


@dataclass(frozen=True, slots=True)
class Terms:
    """Equal for workloads that differ in nothing but their names: most of them, so they are made and stored once."""

    shape: Shape
    retries: int = 0
    queue: str | None = None  # as the user named it
    user: str | None = None
    tenant: str = ""  # who the fair order counts it for
    run_s: float | None = None  # declared
    schedule_within_s: float | None = None
    gang_min: int = 0  # of its own tasks
    group: str = ""
    group_min: int = 0  # of the tasks of all that are in the group
    loose: bool = False  # a gang only until it has started
    concurrency: int = 0  # 0: no limit
    preemptible: bool = True
    may_preempt: bool = True  # others may have to give way for it
    max_unavailable: int = 0  # 0: no limit
    min_run_s: float = 0.0
    checkpoint_s: float = 0.0
    labels: tuple[tuple[str, str], ...] = ()  # of the workload: others may want to be near to it or apart from it
    policies: tuple[str, ...] = ()  # that it asked for by name
    priority: int | None = None  # where priorities are whole numbers: more is more urgent

    @staticmethod
    def from_json(text: str) -> "Terms":
        found = json.loads(text)
        shape = Shape.from_json(json.dumps(found.pop("shape")))
        labels = tuple((key, value) for key, value in found.pop("labels", ()))
        return Terms(shape, **found | {"labels": labels, "policies": tuple(found.get("policies", ()))})


_OPTIONAL = tuple((field.name, field.default) for field in fields(Terms) if field.name not in ("shape", "retries"))


@lru_cache(maxsize=4096)
def terms_json(terms: Terms) -> str:
    """The inverse of `Terms.from_json`; kept for terms that come again and again."""
    more = {name: value for name, default in _OPTIONAL if (value := getattr(terms, name)) != default}
    rest = f",{json.dumps(more, separators=(',', ':'))[1:-1]}" if more else ""
    return f'{{"retries":{terms.retries}{rest},"shape":{terms.shape.to_json()}}}'
