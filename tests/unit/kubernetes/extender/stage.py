"""An extender with a cluster of a test's making: told of nodes and pods as watches would, connected to nobody."""

from typing import Any

from tests.invariants import check_invariants
from tests.unit.kubernetes.manifests import node, pod

from dovetail.kubernetes.extender.extender import Extender
from dovetail.kubernetes.extender.settings import STOCK, KubernetesExtenderSettings
from dovetail.kubernetes.extender.wire import ExtenderArgs, ExtenderFilterResult, ExtenderPreemptionArgs, MetaVictims
from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import Fixed
from dovetail.kubernetes_client.objects import NamespacedName
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange

Json = dict[str, Any]
RACK = "topology.example/rack"
NOWHERE = "http://127.0.0.1:9"


class Stage:
    def __init__(self, **settings: Any) -> None:
        self.now = 1000.0
        chosen = KubernetesExtenderSettings(**settings)
        self.extender = Extender(Api(Access(NOWHERE, Fixed())), chosen, lambda: self.now)
        self.extender.informer.synced.set()
        self.nudged: list[tuple[NamespacedName, str]] = []
        self.extender.refused_pods._nudge = lambda place, _, words: self.nudged.append((place, words))
        self.names: list[str] = []

    def node(self, name: str, rack: str = "", cpu: str = "4", **more: Any) -> None:
        labels = {**({RACK: rack} if rack else {}), **more.pop("labels", {})}
        self.names.append(name)
        self._node(ChangeKind.ADDED, node(name, cpu=cpu, labels=labels, **more))

    def racks(self, racks: int, each: int, cpu: str = "4") -> None:
        for i in range(racks):
            for j in range(each):
                self.node(f"r{i}n{j}", f"r{i}", cpu)

    def node_gone(self, name: str) -> None:
        self._node(ChangeKind.DELETED, {"metadata": {"name": name}})

    def _node(self, kind: ChangeKind, body: Json) -> None:
        self.extender.informer.objects.nodes([ObjectChange(kind, body)])
        self.reported()

    def seen(self, *pods: Json) -> None:
        for one in pods:
            self.extender.informer.tracker.seen(one)
        self.reported()

    def reported(self) -> None:
        """As after any change that a watch delivers."""
        self.extender.informer._report()

    def bound(self, one: Json, to: str) -> None:
        """As the watch tells of it."""
        self.seen({**one, "spec": {**one["spec"], "nodeName": to}, "status": {"phase": "Running"}})

    def gone(self, one: Json) -> None:
        about = one["metadata"]
        self.extender.informer.tracker.deleted((about["namespace"], about["name"]), about["uid"])
        self.reported()

    def budget(self, allowed: int, **labels: str) -> None:
        spec = {"selector": {"matchLabels": labels}}
        about = {"name": "budget", "namespace": "default"}
        body = {"metadata": about, "spec": spec, "status": {"disruptionsAllowed": allowed}}
        self.extender.informer.objects.disruption_budgets([ObjectChange(ChangeKind.ADDED, body)])

    # --- questions -------------------------------------------------------------------------------------------

    def filter(self, one: Json, names: list[str] | None = None) -> ExtenderFilterResult:
        args = ExtenderArgs(pod=one, node_names=self.names if names is None else names)
        found = self.extender.filter_verb.filter(args)
        check_invariants(self.extender.engine._state.cluster)
        return found

    def passed(self, one: Json, names: list[str] | None = None) -> list[str]:
        return self.filter(one, names).node_names or []

    def why(self, one: Json) -> str:
        """What all nodes say that refuse it: it has to be the same."""
        found = self.filter(one)
        assert not found.node_names, found.node_names
        (words,) = {*found.failed_nodes.values(), *found.failed_and_unresolvable_nodes.values()}
        return words

    def points(self, one: Json, names: list[str] | None = None) -> dict[str, int]:
        args = ExtenderArgs(pod=one, node_names=self.names if names is None else names)
        return {each["Host"]: each["Score"] for each in self.extender.filter_verb.prioritize(args)}

    def preempt(self, one: Json, **victims: list[str]) -> dict[str, tuple[list[str], int]]:
        """By node: uids of victims that are proposed; those that are answered, and how many overrun budgets."""
        proposed = {
            name: MetaVictims.model_validate({"Pods": [{"UID": uid} for uid in uids]}) for name, uids in victims.items()
        }
        args = ExtenderPreemptionArgs(pod=one, node_name_to_meta_victims=proposed)
        found = self.extender.preempt_verb.preempt(args).node_name_to_meta_victims
        check_invariants(self.extender.engine._state.cluster)
        return {name: (one.uids, one.num_pdb_violations) for name, one in found.items()}


def waiting(name: str, *, cpu: str = "1", labels: Json | None = None, **more: Any) -> Json:
    """A pod of the stock scheduler; `asks` are annotations of ours."""
    asks = more.pop("asks", {})
    found = pod(name, labels, cpu=cpu, schedulerName=STOCK, **more)
    found["metadata"]["annotations"] = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in asks.items()}
    return found


def gang(name: str, size: int, *, cpu: str = "1", least: int | None = None, **more: Any) -> list[Json]:
    """Pods that start together, in one rack."""
    asks = {"gang": name, "gang_min": str(least or size), "topology": f"required: {RACK}"}
    return [waiting(f"{name}-{i}", cpu=cpu, asks=asks, **more) for i in range(size)]
