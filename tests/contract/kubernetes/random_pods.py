"""Random pods as the API takes them, which want all sorts of things of a node, of each other and of volumes.

What waits is less urgent than everything that has a node, so that whoever judges it has nobody deleted for it.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

Json = dict[str, Any]

HOST, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
FOO, GPU, HUGE = "example.com/foo", "nvidia.com/gpu", "hugepages-2Mi"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
#: By name; those of pods that wait are below those of pods that have a node.
PRIORITIES = {"idle": -5, "usual": 0, "some": 50, "patient": 70, "placed": 1000, "placed-more": 2000}
PATIENT = "patient"  # nobody gives way to it
WAITING, PLACED = ("idle", "usual", "some", PATIENT), ("placed", "placed-more")
OVERHEAD = "sandboxed"  # a RuntimeClass
APPS, TIERS, VERSIONS = ("web", "db", "cache"), ("front", "back"), ("v1", "v2")
KEYS = (HOST, ZONE, REGION, "rack")
TAINTS = (
    ("dedicated", "gpu", "NoSchedule"),
    ("spot", "true", "NoSchedule"),
    ("maintenance", "", "NoExecute"),
    ("spot", "true", "PreferNoSchedule"),
)
_SPACES: tuple[Json, ...] = (
    {},
    {"matchLabels": {"team": "a"}},
    {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": "stage", "operator": "In", "values": ["live"]}]},
)


class PodDrawing:
    def __init__(
        self,
        chance: Random,
        namespaces: Sequence[str],
        nodes: Sequence[str],
        claims: Sequence[str],
        devices: Sequence[str],
    ) -> None:
        """`claims` of volumes and of `devices` are all in the first of the namespaces."""
        self.chance, self.names, self.nodes, self.claims, self.devices = chance, namespaces, nodes, claims, devices

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def some_nodes(self, most: int) -> list[str]:
        return self.chance.sample(self.nodes, self.chance.randint(1, min(most, len(self.nodes))))

    def wait(self, name: str) -> Json:
        """One to three things that most nodes or some nodes can give."""
        pod = self.pod(name, small=self.often(0.7))
        spec = pod["spec"]
        spec |= {"schedulerName": "judge", "priorityClassName": self.chance.choice(WAITING)}
        wants = (
            self.select,
            self.near_or_apart,
            self.near_or_apart,
            self.spread,
            self.spread,
            self.hold,
            self.take,
            self.mount,
            self.claim_devices,
        )
        for want in self.chance.sample(wants, self.chance.choice((0, 1, 1, 2, 2, 3))):
            want(pod)
        if self.often(0.5):
            spec["tolerations"] = [self.toleration() for _ in range(self.chance.randint(1, 3))]
        return pod

    def pod(self, name: str, *, small: bool) -> Json:
        draw = self.chance.choice
        cpu = draw(("0", "50m", "250m", "1")) if small else draw(("1500m", "3", "8"))
        memory = draw(("0", "100M", "512Mi")) if small else draw(("1Gi", "3Gi", "9Gi"))
        spec: Json = {"containers": [container("main", cpu, memory)], "terminationGracePeriodSeconds": 3600}
        if self.often(0.2):
            spec["containers"].append(container("second", draw(("100m", "500m")), "64Mi"))
        if self.often(0.2):
            spec["initContainers"] = [container("first", draw(("100m", "2")), draw(("64Mi", "2Gi")))]
            if self.often(0.5):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        if self.often(0.15):
            spec["runtimeClassName"] = OVERHEAD
        labels = {"app": draw(APPS), "version": draw(VERSIONS)} | ({"tier": draw(TIERS)} if self.often(0.5) else {})
        return {"metadata": {"name": name, "namespace": draw(self.names), "labels": labels}, "spec": spec}

    # --- what pods want --------------------------------------------------------------------------------------

    def take(self, pod: Json) -> None:
        resources = pod["spec"]["containers"][0]["resources"]
        name, amounts = self.chance.choice(
            (
                (FOO, ("1", "2", "9")),
                (GPU, ("1", "4")),
                (HUGE, ("2Mi", "32Mi")),
                ("ephemeral-storage", ("1Gi", "15Gi")),
                ("example.com/unknown", ("1",)),
            )
        )
        resources["requests"][name] = self.chance.choice(amounts)
        resources["limits"] = {name: resources["requests"][name]}

    def select(self, pod: Json) -> None:
        if self.often(0.3):
            key, values = self.chance.choice((("disk", ("ssd", "hdd")), (ZONE, ("z1", "z2")), ("rack", ("k1", "k3"))))
            pod["spec"]["nodeSelector"] = {key: self.chance.choice(values)}
            return
        terms = [self.node_term() for _ in range(self.chance.choice((1, 1, 2)))]
        wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        pod["spec"].setdefault("affinity", {})["nodeAffinity"] = wanted

    def node_term(self) -> Json:
        draw, term = self.chance.choice, dict[str, Any]()
        if self.often(0.25):
            term["matchFields"] = [
                {"key": "metadata.name", "operator": draw(("In", "NotIn")), "values": self.some_nodes(1)}
            ]
        if self.often(0.85) or not term:
            key, values = draw((("disk", ["ssd", "nvme"]), (ZONE, ["z1", "z2"]), ("rack", ["k1"]), (REGION, ["r1"])))
            operator = draw(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
            if operator in ("Gt", "Lt"):
                key, values = "cores", [draw(("4", "5", "63"))]
            term["matchExpressions"] = [
                {"key": key, "operator": operator} | ({} if "Exist" in operator else {"values": values})
            ]
        return term

    def near_or_apart(self, pod: Json) -> None:
        kind = self.chance.choice(("podAffinity", "podAntiAffinity"))
        terms = [self.term() for _ in range(self.chance.choice((1, 1, 1, 2)))]
        wanted: Json = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if self.often(0.2):
            wished = {"weight": 10, "podAffinityTerm": self.term()}
            wanted["preferredDuringSchedulingIgnoredDuringExecution"] = [wished]
        pod["spec"].setdefault("affinity", {})[kind] = wanted

    def term(self) -> Json:
        term: Json = {"topologyKey": self.chance.choice(KEYS)}
        if self.often(0.95):
            term["labelSelector"] = self.selector()
        if self.often(0.25):
            term["namespaces"] = self.chance.sample(self.names, self.chance.randint(1, 2))
        if self.often(0.3):
            term["namespaceSelector"] = self.chance.choice(_SPACES)
        if "labelSelector" in term and self.often(0.15):
            used = {one["key"] for one in term["labelSelector"].get("matchExpressions", ())}
            if "version" not in used | set(term["labelSelector"].get("matchLabels", ())):
                term[self.chance.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
        return term

    def selector(self) -> Json:
        draw = self.chance.choice
        if self.often(0.06):
            return {}
        if self.often(0.5):
            return {"matchLabels": {"app": draw(APPS)}}
        operator = draw(("In", "NotIn", "Exists", "DoesNotExist"))
        key, values = draw((("app", list(APPS[:2])), ("tier", [TIERS[0]])))
        return {
            "matchExpressions": [
                {"key": key, "operator": operator} | ({} if "Exist" in operator else {"values": values})
            ]
        }

    def spread(self, pod: Json) -> None:
        rules: list[Json] = []
        for key in self.chance.sample(KEYS, self.chance.choice((1, 1, 2))):
            firm = self.often(0.85)
            rule: Json = {
                "topologyKey": key,
                "maxSkew": self.chance.choice((1, 1, 2, 3)),
                "whenUnsatisfiable": "DoNotSchedule" if firm else "ScheduleAnyway",
            }
            if self.often(0.93):
                rule["labelSelector"] = self.selector()
            if firm and self.often(0.25):
                rule["minDomains"] = self.chance.choice((1, 2, 4))
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.often(0.35):
                    rule[policy] = self.chance.choice(("Honor", "Ignore"))
            if "labelSelector" in rule and self.often(0.2):
                rule["matchLabelKeys"] = ["version"]
            rules.append(rule)
        pod["spec"]["topologySpreadConstraints"] = rules

    def hold(self, pod: Json) -> None:
        pod["spec"]["containers"][0]["ports"] = self.ports()
        if self.often(0.2):  # every port of it is one of the node
            pod["spec"]["hostNetwork"] = True
            pod["spec"]["containers"][0]["ports"] = [{"containerPort": self.chance.choice((80, 9000, 9100))}]

    def ports(self) -> list[Json]:
        port: Json = {"containerPort": 80, "hostPort": self.chance.choice((80, 443, 9000))}
        if self.often(0.4):
            port["hostIP"] = self.chance.choice(("127.0.0.1", "10.0.0.1"))
        if self.often(0.3):
            port["protocol"] = "UDP"
        return [port]

    def mount(self, pod: Json) -> None:
        """Claims are all in one namespace; a pod elsewhere finds none of that name."""
        if self.often(0.85):
            pod["metadata"]["namespace"] = self.names[0]
        for name in self.chance.sample(self.claims, self.chance.choice((1, 1, 2))):
            self.use(pod["spec"], name)

    def claim_devices(self, pod: Json) -> None:
        pod["metadata"]["namespace"] = self.names[0]
        names = self.chance.sample(self.devices, self.chance.choice((1, 1, 2)))
        pod["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in names]

    def use(self, spec: Json, claim: str) -> None:
        volume = {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
        spec.setdefault("volumes", []).append(volume)

    def toleration(self) -> Json:
        draw = self.chance.choice
        key, value, effect = draw(TAINTS)
        if self.often(0.1):
            return {"operator": "Exists"}
        if self.often(0.15):
            return {"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoSchedule"}
        if self.often(0.3):
            return {"key": key, "operator": "Exists"}
        return {"key": key, "value": value} | ({"effect": effect} if self.often(0.7) else {})


def container(name: str, cpu: str, memory: str) -> Json:
    return {"name": name, "image": "none", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
