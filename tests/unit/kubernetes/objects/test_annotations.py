"""What pods ask of us in annotations: read as written, or refused in words that name the annotation."""

import pytest

from dovetail.kubernetes.objects.annotations import NOTHING, PREFIX, AnnotationError, asked_in, own_of
from dovetail.model.workloads.constraint import ConstraintKind


def own(**annotations: str) -> tuple[tuple[str, str], ...]:
    return own_of({PREFIX + name.replace("_", "-"): text for name, text in annotations.items()})


def test_annotations_of_others_are_not_ours_to_read() -> None:
    assert own_of({"dovetail.dev/attempt": "7.0.1", "example.com/gang": "x"}) == ()
    assert asked_in(()) == NOTHING


def test_everything_that_can_be_asked_is_read() -> None:
    found = asked_in(
        own(
            gang="train",
            gang_min="8",
            topology="{required: zone, preferred: rack, bandwidth: 10Gbps}",
            traffic="[{to: db, mbps: 4Gbps}, {to: cache, mbps: 10}]",
            workload="web",
            constraints="[{require: 'node.labels.disk == \"ssd\"'}, {avoid: 'node.labels.old == \"yes\"'}]",
        )
    )
    assert (found.gang, found.gang_min, found.workload) == ("train", 8, "web")
    assert found.layout is not None
    assert (found.layout.required, found.layout.preferred, found.layout.bandwidth_mbps) == ("zone", "rack", 10_000)
    assert found.traffic == (("cache", 10), ("db", 4000))
    assert [want.demand for want in found.wants] == [ConstraintKind.REQUIRE, ConstraintKind.AVOID]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topology": "{required: [}"}, "topology: line 1"),
        ({"topology": "{}"}, "topology: is empty"),
        ({"topology": "a\n---\nb"}, "topology: needs one value, got 2"),
        ({"gang": "train"}, "gang-min: is missing"),
        ({"gang": "train", "gang_min": "none"}, "gang-min"),
        ({"gang": "train", "gang_min": "0"}, "gang-min"),
        ({"constraints": "[{require: 'node.labels.disk =='}]"}, "constraints: "),
        ({"constraints": "[{require: 'nod.labels.disk == \"x\"'}]"}, "constraints: "),
        ({"traffic": "[{to: db, mbps: fast}]"}, "traffic[0].mbps"),
        ({"trafic": "[]"}, "trafic"),
        ({"gang": "!!python/object:os.system x", "gang_min": "2"}, "gang"),
        ({"topology": "x" * 100_000}, "topology"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_name(given: dict[str, str], words: str) -> None:
    with pytest.raises(AnnotationError) as failure:
        asked_in(own(**given))
    assert f"annotation {PREFIX}{words}" in str(failure.value)
    assert len(str(failure.value)) < 1000
