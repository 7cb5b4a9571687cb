"""Which volumes claims get that wait for their pod's node: those that the filter counted on."""

from typing import Any

from tests.unit.kubernetes.manifests import HOST, pod

from dovetail.kubernetes.objects.storage import SELECTED_NODE, ClaimBinding, Storage

Json = dict[str, Any]
WAITS = "WaitForFirstConsumer"


def volume(name: str, node: str | None = None, *, size: str = "1Gi", version: int = 1, **spec: Any) -> Json:
    if node is not None:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    usual = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "later"}
    about = {"name": name, "resourceVersion": str(version)}
    return {"metadata": about, "spec": {**usual, **spec}, "status": {"phase": "Available"}}


def claim(
    name: str, *, size: str = "1Gi", kind: str = "later", annotations: Json | None = None, version: int = 1, **spec: Any
) -> Json:
    about: Json = {"namespace": "default", "name": name, "uid": f"uid of {name}", "annotations": annotations or {}}
    about["resourceVersion"] = str(version)
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": kind}
    return {"metadata": about, "spec": asked | spec}


def using(*claims: str) -> Json:
    return pod(volumes=[{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims])


def storage(*things: Json) -> Storage:
    found = Storage()
    for name, provisioner in (("later", "kubernetes.io/no-provisioner"), ("made", "disk.example.com")):
        found.provisioning.set_class(
            {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": WAITS}
        )
    for thing in things:
        (found.set_volume if "capacity" in thing["spec"] else found.set_claim)(thing)
    return found


def kept(claim: str, name: str, *, asked: bool = False) -> ClaimBinding:
    return ClaimBinding("default", claim, f"uid of {claim}", name, "1", asked)


def made(claim: str, *, asked: bool = False) -> ClaimBinding:
    return ClaimBinding("default", claim, f"uid of {claim}", asked=asked)


def test_each_claim_gets_the_smallest_volume_that_is_left_and_can_be_used_from_the_node() -> None:
    volumes = volume("far", "n2"), volume("small", "n1"), volume("large", "n1", size="9Gi")
    there = storage(*volumes, claim("a"), claim("b", size="2Gi"))
    assert there.bindings(using("b", "a"), {HOST: "n1"}) == [kept("a", "small"), kept("b", "large")]
    assert there.bindings(using("a"), {HOST: "n2"}) == [kept("a", "far")]


def test_two_claims_never_get_one_volume() -> None:
    there = storage(volume("v", "n1"), claim("a"), claim("b"))
    assert there.bindings(using("a", "b"), {HOST: "n1"}) is None


def test_where_none_is_left_one_is_made_if_its_class_can() -> None:
    there = storage(claim("a", kind="made"), claim("b"))
    assert there.bindings(using("a"), {HOST: "n1"}) == [made("a")]
    assert there.bindings(using("b"), {HOST: "n1"}) is None


def test_claims_that_are_bound_need_nothing() -> None:
    there = storage(volume("v"), claim("a", annotations={"pv.kubernetes.io/bind-completed": "yes"}, volumeName="v"))
    assert there.bindings(using("a"), {HOST: "n1"}) == []
    assert there.bindings(pod(), {HOST: "n1"}) == []


def test_what_was_asked_for_already_is_not_asked_for_again() -> None:
    reference = {"namespace": "default", "name": "a", "uid": "uid of a"}
    there = storage(
        volume("v", claimRef=reference), claim("a"), claim("b", kind="made", annotations={SELECTED_NODE: "n1"})
    )
    assert there.bindings(using("a", "b"), {HOST: "n1"}) == [made("b", asked=True), kept("a", "v", asked=True)]


def test_a_binding_has_come_about_when_the_claim_is_bound_and_not_before() -> None:
    there = storage(volume("v", claimRef={"namespace": "default", "name": "a", "uid": "uid of a"}), claim("a"))
    assert there.has_come_about(kept("a", "v"), "n1", since=5) is False
    there.set_claim(claim("a", annotations={"pv.kubernetes.io/bind-completed": "yes"}, volumeName="v"))
    assert there.has_come_about(kept("a", "v"), "n1", since=5) is True


def test_what_the_watch_has_not_told_of_yet_stands() -> None:
    there = storage(volume("v", version=4), claim("a"), claim("b", kind="made", version=4))
    assert there.has_come_about(kept("a", "v"), "n1", since=5) is False
    assert there.has_come_about(made("b"), "n1", since=5) is False


def test_what_was_taken_back_does_not_stand() -> None:
    there = storage(volume("v", version=6), claim("a"), claim("b", kind="made", version=6))
    assert there.has_come_about(kept("a", "v"), "n1", since=5) is None
    assert there.has_come_about(made("b"), "n1", since=5) is None
    there.set_claim(claim("b", kind="made", annotations={SELECTED_NODE: "n2"}, version=7))
    assert there.has_come_about(made("b"), "n1", since=5) is None
    assert there.has_come_about(made("b"), "n2", since=5) is False
    there.drop_claim("default", "b")
    there.drop_volume("v")
    assert there.has_come_about(made("b"), "n2", since=5) is None
    assert there.has_come_about(kept("a", "v"), "n1", since=5) is None
