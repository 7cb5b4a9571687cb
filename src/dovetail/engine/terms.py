"""What the engine needs of a workload's definition, in a form that a restart can restore without the definition."""

import json
from dataclasses import dataclass
from functools import lru_cache

from dovetail.engine.settings import Router
from dovetail.model.shape import Shape, shape_of
from dovetail.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Terms:
    shape: Shape
    retries: int

    @staticmethod
    def from_json(text: str) -> "Terms":
        found = json.loads(text)
        return Terms(Shape.from_json(json.dumps(found["shape"])), found["retries"])


@lru_cache(maxsize=4096)
def terms_json(shape: Shape, retries: int) -> str:
    """The inverse of `Terms.from_json`; kept for shapes that come again and again."""
    return f'{{"retries":{retries},"shape":{shape.to_json()}}}'


def terms_of(router: Router, spec: Workload) -> Terms:
    """Raises what `Router.route` raises."""
    scheduler, profile = router.route(spec)
    return Terms(shape_of(spec, scheduler, profile), spec.retries)
