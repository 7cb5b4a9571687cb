"""Nodes that have the image are better, under profiles that ask for it."""

from tests.unit.placement.scene import cluster_of, scored

from dovetail.engine.settings import EngineSettings, Router
from dovetail.engine.state.terms import terms_of
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.shaping import shape_of
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request


def test_a_node_that_has_the_image_has_all_the_points() -> None:
    cluster = cluster_of({"labels": {"image/tool:latest": "present"}}, {}, {"labels": {"image/tool:2": "present"}})
    for image, points in (
        ("tool", [1.0, 0.0, 0.0]),
        ("docker.io/library/tool:2", [0.0, 0.0, 1.0]),
        ("other", [0.0] * 3),
    ):
        spec = Workload.model_validate({"name": "w", "run": {"image": image}})
        shape = shape_of(spec, "default", "tried", by_image=True)
        needs = {name: float(amount) for name, amount in shape.amounts}
        request = Request(shape, cluster.resources.vector(needs), needs)
        assert scored("image_locality", cluster, request) == points


def test_the_image_counts_for_the_shape_only_where_the_profile_looks_at_it() -> None:
    settings = EngineSettings.model_validate({"profiles": {"near": {"scores": {"image_locality": 1}}}})
    router = Router(settings)

    def shape(image: str, profile: str) -> Shape:
        spec = {"name": "w", "profile": profile, "run": {"image": image}}
        return terms_of(router, Workload.model_validate(spec)).shape

    assert shape("a", "balanced") == shape("b", "balanced")
    assert shape("a", "near") != shape("b", "near")
    assert shape("a", "near") == shape("a:latest", "near")
    assert Shape.from_json(shape("a", "near").to_json()) == shape("a", "near")
