"""Pods as work: what is kept, what is read again, what others know them by."""

import json
from typing import Any

from tests.unit.kubernetes.manifests import HOST, ZONE, apart, app, container, near, pod

from dovetail.kubernetes.objects.pods import PodReader, gates_of, is_finished
from dovetail.model.requests.terms import Terms, terms_json


def test_pods_of_one_template_mean_the_same_thing() -> None:
    reader = PodReader()
    one = pod("web-1", {"app": "web"}, volumes=[{"name": "kube-api-access-x1", "projected": {}}])
    other = pod("web-2", {"app": "web"}, volumes=[{"name": "kube-api-access-y2", "projected": {}}])
    assert reader.read(one) is reader.read(other)


def test_whatever_matters_makes_another_meaning() -> None:
    reader = PodReader()
    plain = reader.read(pod())
    for other in (
        pod(cpu="2"),
        pod(priority=5),
        pod(namespace="other"),
        pod(labels={"a": "b"}),
        pod(nodeSelector={"a": "b"}),
        pod(tolerations=[{"operator": "Exists"}]),
        pod(affinity=near(ZONE, app("x"))),
        pod(containers=[container(ports=[{"hostPort": 80}])]),
        pod(overhead={"cpu": "1"}),
    ):
        assert reader.read(other) != plain


def test_a_plain_pod_gives_filters_of_kubernetes_nothing_to_look_at() -> None:
    ask = PodReader().read(pod()).terms.shape.kubernetes
    assert ask is not None
    assert not ask.asks
    assert not ask.needs_other_nodes


def test_a_placed_pod_asks_for_nothing_but_keeps_others_away() -> None:
    reader = PodReader()
    one = pod(affinity={**near(ZONE, app("x")), **apart(HOST, app("y"))}, nodeSelector={"a": "b"})
    placed = reader.read(one, placed=True)
    assert placed.terms.shape.node_selector == ()
    assert placed.terms.shape.workload_affinity == ()
    assert placed.identity.repels == reader.read(one).identity.repels
    assert len(placed.identity.repels) == 1


def test_priority_and_policy_are_read_and_nothing_said_is_nought() -> None:
    reader = PodReader()
    assert (reader.read(pod()).priority, reader.read(pod()).preempts) == (0, True)
    urgent = reader.read(pod(priority=1000, preemptionPolicy="Never"))
    assert (urgent.priority, urgent.preempts, urgent.terms.priority) == (1000, False, 1000)


def test_gates_and_ends_are_told_apart() -> None:
    assert gates_of(pod(schedulingGates=[{"name": "wait"}])) == ("wait",)
    assert not is_finished(pod())
    ended = pod()
    ended["status"]["phase"] = "Failed"
    assert is_finished(ended)


def _demanding() -> dict[str, Any]:
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app("x")}
    claims = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    affinity = {**near(ZONE, app("x")), **apart(HOST, app("y"))}
    one = pod("p", {"app": "x"}, affinity=affinity, topologySpreadConstraints=[spread], volumes=claims, nodeName="n")
    one["spec"]["containers"][0]["restartPolicyRules"] = [{"action": "RestartAllContainers"}]
    return one


def test_terms_survive_being_written_as_json() -> None:
    reader = PodReader()
    storage = reader.storage
    storage.provisioning.set_class(
        {"metadata": {"name": "k"}, "provisioner": "csi", "volumeBindingMode": "WaitForFirstConsumer"}
    )
    spec = {"storageClassName": "k", "accessModes": ["ReadWriteOncePod"], "resources": {"requests": {"storage": "1"}}}
    storage.set_claim({"metadata": {"name": "c", "namespace": "default"}, "spec": spec})
    match = [{"key": ZONE, "operator": "In", "values": ["a"]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": match}]}}
    volume = {"capacity": {"storage": "1Gi"}, "storageClassName": "k", "accessModes": ["ReadWriteOncePod"]}
    storage.set_volume({"metadata": {"name": "v"}, "spec": volume | {"nodeAffinity": affinity}})
    for one in (pod(), _demanding()):
        terms = reader.read(one).terms
        again = Terms.from_json(json.dumps(json.loads(terms_json(terms))))
        assert again == terms
        assert hash(again.shape) == hash(terms.shape)
