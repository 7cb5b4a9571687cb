"""Shapes as they are stored: each field there and back, and what earlier versions wrote."""

from dataclasses import fields, replace

from dovetail.model.requests.asks import (
    AffinityRule,
    ConstraintAsk,
    GpuAsk,
    Insisted,
    Layout,
    MarketAsk,
    Match,
    Relation,
    Selector,
    SpreadRule,
    Tolerance,
    WeightedMatch,
)
from dovetail.model.requests.pod_ask import (
    DeviceAsk,
    PodAffinityRule,
    PodAsk,
    PodSpreadRule,
    PodVolume,
    VolumeAsk,
    VolumeClaim,
)
from dovetail.model.requests.shape import Shape
from dovetail.model.workloads.constraint import ConstraintKind as Demand
from dovetail.model.workloads.selection import Effect, Operator, TolerationOperator
from dovetail.model.workloads.workload import WorkloadKind

TERM = (Match("zone", Operator.IN, ("a", "b")), Match("ssd", Operator.EXISTS, ()))
SELECTOR = Selector(("default",), "web", None, TERM, "set")
FULL = Shape(
    amounts=(("cpu", 1000), ("gpu", 2000)),
    kind=WorkloadKind.CONTAINER,
    scheduler="night",
    profile="network",
    namespace="ml",
    service="web",
    node_selector=(("disk", "ssd"),),
    required=(TERM,),
    preferred=(WeightedMatch(3, TERM),),
    avoided=(WeightedMatch(100, TERM),),
    tolerations=(
        Tolerance("key", TolerationOperator.EQUAL, "v", Effect.NO_EXECUTE, 5.0),
        Tolerance(None, TolerationOperator.EXISTS, "", None),
    ),
    backends=("docker*",),
    near=("db",),
    insisted=(Insisted(2, TERM),),
    wants=(ConstraintAsk(Demand.PREFER, "node.name == 'x'", 0.5, 3, "policy p"),),
    workload_affinity=(
        AffinityRule(Relation.APART, (SELECTOR,), "rack", 1.5, 2, 0.25, SELECTOR),
        AffinityRule(Relation.NEAR, (SELECTOR,)),
    ),
    spread=(SpreadRule("zone", 1, (SELECTOR,), 2, 0.5),),
    traffic=(("db", 100),),
    layout=Layout("rack", "leaf", ((4, "host"),), "pack", 1000),
    gpus=GpuAsk(2, 0, ("A100", "H100"), 1024, True),
    image="docker.io/library/web:1",
    market=MarketAsk(0.5, 0.25, 0.25, run_s=60.0, checkpoint_s=10.0, inputs=(("aws/us-east-1", 2.5),)),
    kubernetes=PodAsk(
        asks=True,
        node_name="n1",
        features=("f",),
        together=PodAffinityRule(SELECTOR, ("zone",), True),
        spread=(PodSpreadRule("zone", 1, None, True, 2, False, True, 1),),
        volumes=VolumeAsk(
            ("plugin", "why"),
            ((TERM,), ()),
            (("zone", ("a",)),),
            (VolumeClaim((PodVolume("v", (TERM,)), PodVolume("w", None)), None, "n2", (TERM,)),),
            (("driver", "v"),),
        ),
        repels=(AffinityRule(Relation.APART, (SELECTOR,)),),
        devices=DeviceAsk("", ((TERM,),), "devices:a"),
    ),
)


def test_every_field_comes_back_and_makes_a_difference() -> None:
    plain = Shape((), WorkloadKind.JOB, "default", "balanced", "")
    assert Shape.from_json(plain.to_json()) == plain
    back = Shape.from_json(FULL.to_json())
    assert back == FULL
    assert hash(back) == hash(FULL)
    assert back.to_json() == FULL.to_json()
    for field in fields(Shape):
        if field.init:
            value = getattr(FULL, field.name)
            assert type(getattr(back, field.name)) is type(value)
            assert value != getattr(plain, field.name), "this test has a value of its own for every field"
            other = replace(FULL, **{field.name: getattr(plain, field.name)})
            assert other != FULL
            assert hash(other) != hash(FULL)


def test_what_earlier_versions_wrote_is_understood() -> None:
    written = (
        '{"amounts":{"cpu":1000,"gpu":2000,"slots":1},"kind":"job","scheduler":"default","profile":"balanced",'
        '"namespace":"default","service":"s","tolerations":[["k","Exists","",null]],'
        '"preferred":[[3,[["zone","In",["a"]]]]],"company":[["near",[[["default"],"x",null,[],null]],"rack",null,0,'
        'null,null]],"spread":[["zone",1,[[["default"],"w",null,[],null]],1,null]],"layout":["rack",null,[],""]}'
    )
    found = Shape.from_json(written)
    assert found.amounts == (("cpu", 1000), ("gpu", 2000), ("slots", 1))
    assert found.tolerations == (Tolerance("k", TolerationOperator.EXISTS, "", None),)
    assert found.preferred == (WeightedMatch(3, (Match("zone", Operator.IN, ("a",)),)),)
    assert found.workload_affinity == (AffinityRule(Relation.NEAR, (Selector(("default",), "x"),), "rack"),)
    assert found.spread == (SpreadRule("zone", 1, (Selector(("default",), "w"),)),)
    assert found.layout == Layout("rack")
    assert found.gpus == GpuAsk(count=2)
    assert Shape.from_json(written[:-1] + ',"of_a_later_version":1}') == found
