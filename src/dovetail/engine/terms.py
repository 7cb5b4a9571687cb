"""What the engine needs of a workload's definition, in a form that a restart can restore without the definition."""

import json
from dataclasses import dataclass

from dovetail.engine.settings import Router
from dovetail.model.shape import Shape, shape_of
from dovetail.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Terms:
    shape: Shape
    retries: int

    def to_json(self) -> str:
        return f'{{"retries":{self.retries},"shape":{self.shape.to_json()}}}'

    @staticmethod
    def from_json(text: str) -> "Terms":
        found = json.loads(text)
        return Terms(Shape.from_json(json.dumps(found["shape"])), found["retries"])


def terms_of(router: Router, spec: Workload) -> Terms:
    """Raises what `Router.route` raises."""
    scheduler, profile = router.route(spec)
    return Terms(shape_of(spec, scheduler, profile), spec.retries)
