"""Random clusters as the API takes them: nodes, pods on them, volumes, and pods that wait (`random_pods`).

The same seed makes the same objects.
"""

from dataclasses import dataclass, field
from random import Random

from tests.contract.kubernetes.random_devices import DeviceDrawing
from tests.contract.kubernetes.random_pods import (
    FOO,
    GPU,
    HOST,
    HUGE,
    OVERHEAD,
    PLACED,
    REGION,
    TAINTS,
    UNSCHEDULABLE,
    ZONE,
    Json,
    PodDrawing,
)

DRIVER = "disk.example.com"
ROOMY_DRIVER = "room.example.com"  # says how much room it has
LATER, NO_MORE, MADE, NOW, ROOMY = "later", "none-left", "made-in-zones", "at-once", "made-in-room"  # storage classes
_STATIC = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}


@dataclass
class RandomCluster:
    """`finished`: of `placed`, by namespace and name, those that have ended; `leaving`: those that were deleted."""

    devices: DeviceDrawing
    namespaces: list[Json] = field(default_factory=list)
    nodes: list[Json] = field(default_factory=list)
    csi_nodes: list[Json] = field(default_factory=list)
    volumes: list[Json] = field(default_factory=list)
    claims: list[Json] = field(default_factory=list)
    rooms: list[Json] = field(default_factory=list)
    placed: list[Json] = field(default_factory=list)
    finished: set[tuple[str, str]] = field(default_factory=set)
    leaving: set[tuple[str, str]] = field(default_factory=set)
    waiting: list[Json] = field(default_factory=list)


#: What all clusters have in common.
CLASSES: tuple[Json, ...] = (
    {"metadata": {"name": LATER}, **_STATIC},
    {"metadata": {"name": NO_MORE}, **_STATIC},
    {"metadata": {"name": NOW}, "provisioner": DRIVER, "volumeBindingMode": "Immediate"},
    {
        "metadata": {"name": MADE},
        "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1", "z2"]}]}],
    },
    {"metadata": {"name": ROOMY}, "provisioner": ROOMY_DRIVER, "volumeBindingMode": "WaitForFirstConsumer"},
)
DRIVERS: tuple[Json, ...] = (
    {"metadata": {"name": ROOMY_DRIVER}, "spec": {"storageCapacity": True, "attachRequired": False}},
)
RUNTIME_CLASS = {
    "metadata": {"name": OVERHEAD}, "handler": OVERHEAD, "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
}  # fmt: skip


def random_cluster(seed: int, waiting: int) -> RandomCluster:
    return _Drawing(Random(seed), seed).cluster(waiting)


class _Drawing:
    def __init__(self, chance: Random, seed: int) -> None:
        self.chance = chance
        self.names = [f"{colour}-{seed}" for colour in ("red", "green", "blue")]
        self.made = RandomCluster(DeviceDrawing(chance, self.names[0], []))
        self.alone = False

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def cluster(self, waiting: int) -> RandomCluster:
        made = self.made
        for name, team in zip(self.names, ("a", "b", None), strict=True):
            labels = {} if team is None else {"team": team, "stage": self.chance.choice(("test", "live"))}
            made.namespaces.append({"metadata": {"name": name, "labels": labels}})
        made.nodes = [self.node(f"n{i}") for i in range(self.chance.randint(8, 14))]
        for node in made.nodes:
            if self.often(0.5):
                made.csi_nodes.append(self.csi_node(node["metadata"]["name"]))
        self.storage()
        claims = [one["metadata"]["name"] for one in made.claims]
        made.devices.nodes = made.nodes
        made.devices.draw()
        with_devices = [one["metadata"]["name"] for one in made.devices.claims]
        self.pods = PodDrawing(self.chance, self.names, self.node_names, claims, with_devices)
        for node in made.nodes:
            for number in range(self.chance.choice((0, 1, 2, 3, 5))):
                self.place(f"{node['metadata']['name']}-{number}", node["metadata"]["name"])
        made.waiting = [self.pods.wait(f"w{i}") for i in range(waiting)]
        return made

    # --- nodes -----------------------------------------------------------------------------------------------

    def node(self, name: str) -> Json:
        draw = self.chance.choice
        labels = {"disk": draw(("ssd", "hdd", "nvme")), "cores": draw(("4", "8", "064", "many", "0x10"))}
        if self.often(0.9):
            labels[HOST] = name
        if self.often(0.85):
            labels[ZONE] = draw(("z1", "z2", "z3"))
        if self.often(0.8):
            labels[REGION] = draw(("r1", "r2"))
        if self.often(0.4):
            labels["rack"] = draw(("k1", "k2"))
        amounts = {"cpu": draw(("3", "4", "7910m", "16")), "memory": draw(("4Gi", "8Gi", "15258Mi"))}
        amounts["pods"] = draw(("3", "6", "110", "110"))
        some = (
            ("ephemeral-storage", ("10Gi", "20Gi")),
            (FOO, ("0", "2", "5")),
            (GPU, ("1", "8")),
            (HUGE, ("0", "16Mi")),
        )
        for resource, most in some:
            if self.often(0.5):
                amounts[resource] = draw(most)
        spec: Json = {}
        taints = [{"key": key, "value": value, "effect": effect} for key, value, effect in TAINTS if self.often(0.08)]
        if self.often(0.08):
            spec["unschedulable"] = True
            if self.often(0.7):
                taints.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
        if taints:
            spec["taints"] = taints
        status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}

    def csi_node(self, name: str) -> Json:
        driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": self.chance.choice((1, 1, 2))}}
        return {"metadata": {"name": name}, "spec": {"drivers": [driver]}}

    # --- volumes ---------------------------------------------------------------------------------------------

    def storage(self) -> None:
        """In the first namespace: claims with a volume, claims that wait for their pod, volumes for those, odd ones."""
        for number in range(6):
            name, claim = f"bound-{number}", f"bound-{number}"
            mode = "ReadWriteOncePod" if number == 0 else "ReadWriteOnce"
            source = (
                {"csi": {"driver": DRIVER, "volumeHandle": name}}
                if number % 2
                else {"nfs": {"server": "s", "path": "/"}}
            )
            labels = {ZONE: self.chance.choice(("z1", "z2", "z1__z2"))} if number == 3 else {}
            self.volume(name, "", source, labels, bound_to=claim, mode=mode)
            self.claim(claim, "", volume=name, mode=mode)
        for number in range(4):
            self.volume(
                f"free-{number}", LATER, {"nfs": {"server": "s", "path": f"/{number}"}}, {}, size=f"{number + 1}Gi"
            )
        self.claim("small", LATER, size="1Gi")
        self.claim("large", LATER, size="4Gi")
        self.claim("too-large", LATER, size="50Gi")
        self.claim("nothing-for-it", NO_MORE)
        self.claim("made", MADE)
        self.claim("unbound", NOW)
        self.claim("in-room", ROOMY)
        for number in range(self.chance.randint(0, 5)):
            self.room(f"room-{number}")

    def volume(
        self,
        name: str,
        kind: str,
        source: Json,
        labels: Json,
        *,
        bound_to: str = "",
        mode: str = "ReadWriteOnce",
        size: str = "5Gi",
    ) -> None:
        spec = {"capacity": {"storage": size}, "accessModes": [mode], "storageClassName": kind, **source}
        spec["persistentVolumeReclaimPolicy"] = "Retain"
        if bound_to:
            spec["claimRef"] = {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": self.names[0],
                "name": bound_to,
            }
        if self.often(0.7):
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [self.volume_term()]}}
        status = {"phase": "Bound" if bound_to else "Available"}
        self.made.volumes.append({"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status})

    def room(self, name: str) -> None:
        draw = self.chance.choice
        selectors: tuple[Json | None, ...] = (
            {"matchLabels": {HOST: draw(self.node_names)}},
            {"matchLabels": {ZONE: draw(("z1", "z2", "z3"))}},
            {"matchExpressions": [{"key": "disk", "operator": draw(("In", "NotIn")), "values": ["ssd", "hdd"]}]},
            {"matchExpressions": [{"key": "rack", "operator": draw(("Exists", "DoesNotExist"))}]},
            {},
            None,
        )
        about = {"name": name, "namespace": self.names[0]}
        made: Json = {"metadata": about, "storageClassName": draw((ROOMY, ROOMY, ROOMY, MADE))}
        if self.often(0.9):
            made["capacity"] = draw(("1Gi", "2Gi", "2047Mi", "1Ti"))
        if self.often(0.3):
            made["maximumVolumeSize"] = draw(("1Gi", "2G", "4Gi"))
        selector = draw(selectors)
        self.made.rooms.append(made if selector is None else made | {"nodeTopology": selector})

    def volume_term(self) -> Json:
        key, values = (HOST, self.node_names) if self.often(0.3) else (ZONE, ["z1", "z2", "z3"])
        chosen = self.chance.sample(values, 3 if key == HOST else 2)
        return {"matchExpressions": [{"key": key, "operator": "In", "values": chosen}]}

    def claim(self, name: str, kind: str, *, volume: str = "", mode: str = "ReadWriteOnce", size: str = "2Gi") -> None:
        about: Json = {"name": name, "namespace": self.names[0]}
        spec: Json = {"accessModes": [mode], "resources": {"requests": {"storage": size}}, "storageClassName": kind}
        status = {"phase": "Pending"}
        if volume:
            about["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
            spec["volumeName"] = volume
            status = {"phase": "Bound"}
        self.made.claims.append({"metadata": about, "spec": spec, "status": status})

    @property
    def node_names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.made.nodes]

    def place(self, name: str, node: str) -> None:
        pod = self.pods.pod(name, small=True)
        spec = pod["spec"]
        spec |= {"nodeName": node, "schedulerName": "nobody", "priorityClassName": self.chance.choice(PLACED)}
        if self.often(0.2):
            spec["containers"][0]["ports"] = self.pods.ports()
        if self.often(0.12):
            spec["affinity"] = {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [self.pods.term()]}
            }
        if pod["metadata"]["namespace"] == self.names[0] and self.often(0.25):
            # The first is for one pod alone, and one has it.
            self.pods.use(spec, self.chance.choice(("bound-1", "bound-3", "bound-5") if self.alone else ("bound-0",)))
            self.alone = True
        place = pod["metadata"]["namespace"], name
        if self.often(0.08):
            self.made.finished.add(place)
        elif self.often(0.08):
            self.made.leaving.add(place)
        self.made.placed.append(pod)
