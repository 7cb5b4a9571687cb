"""Random devices of nodes and of the network, and claims of them, as the API takes them."""

from collections.abc import Sequence
from random import Random
from typing import Any

Json = dict[str, Any]

GPU_DRIVER, NIC_DRIVER = "gpu.example.com", "nic.example.com"
GPUS, NICS, ANYTHING = "gpus", "nics", "any-device"
CLASSES = (
    {
        "metadata": {"name": GPUS},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{GPU_DRIVER}"'}}]},
    },
    {
        "metadata": {"name": NICS},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{NIC_DRIVER}"'}}]},
    },
    {"metadata": {"name": ANYTHING}, "spec": {}},
)
_SELECTORS = (
    f'device.attributes["{GPU_DRIVER}"].model == "large"',
    f'device.capacity["{GPU_DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0',
    f'device.attributes["{GPU_DRIVER}"].driverVersion.isGreaterThan(semver("1.9.0"))',
    f'"numa" in device.attributes["{GPU_DRIVER}"] && device.attributes["{GPU_DRIVER}"].numa == 1',
    f'device.attributes["{GPU_DRIVER}"].model.lowerAscii().startsWith("la")',
    f'!(device.attributes["{GPU_DRIVER}"].model in ["small", "odd"])',
)
_NUMA = f"{GPU_DRIVER}/numa"


class DeviceDrawing:
    def __init__(self, chance: Random, namespace: str, nodes: Sequence[Json]) -> None:
        self.chance, self.namespace, self.nodes = chance, namespace, nodes
        self.slices: list[Json] = []
        self.claims: list[Json] = []
        self.allocated: dict[str, Json] = {}  # by claim

    def often(self, share: float) -> bool:
        return self.chance.random() < share

    def draw(self) -> None:
        for node in self.nodes:
            if self.often(0.7):
                self.gpus(node["metadata"]["name"])
        self.network()
        for number in range(14):
            self.claim(f"devices-{number}")
        with_devices = [one for one in self.slices if one["spec"].get("nodeName") and one["spec"]["devices"]]
        for number, one in enumerate(self.chance.sample(with_devices, min(3, len(with_devices)))):
            self.taken(f"taken-{number}", one)

    def gpus(self, node: str) -> None:
        devices = [self.gpu(f"gpu-{number}") for number in range(self.chance.choice((1, 2, 4)))]
        count = 2 if self.often(0.1) else 1  # one slice of two is missing
        pool = {"name": node, "generation": self.chance.choice((1, 3)), "resourceSliceCount": count}
        self.slice(f"{node}-gpus", {"driver": GPU_DRIVER, "nodeName": node, "pool": pool, "devices": devices})
        if pool["generation"] == 3 and self.often(0.3):  # left over
            old = {**pool, "generation": 1, "resourceSliceCount": 1}
            offer = {"driver": GPU_DRIVER, "nodeName": node, "pool": old, "devices": [self.gpu("gone-0")]}
            self.slice(f"{node}-before", offer)

    def gpu(self, name: str) -> Json:
        attributes: Json = {
            "model": {"string": self.chance.choice(("small", "large", "Large", "odd"))},
            "driverVersion": {"version": self.chance.choice(("1.0.0", "1.10.0", "2.0.0-rc.1"))},
            "numa": {"int": self.chance.choice((0, 1))},
        }
        made: Json = {"name": name, "attributes": attributes}
        made["capacity"] = {"memory": {"value": self.chance.choice(("16Gi", "40Gi", "80Gi"))}}
        if self.often(0.1):
            effect = self.chance.choice(("NoSchedule", "NoExecute"))
            made["taints"] = [{"key": "health", "value": "poor", "effect": effect}]
        return made

    def network(self) -> None:
        """Of all nodes, and of those with a label."""
        for name, where in (
            ("all", {"allNodes": True}),
            (
                "ssd",
                {
                    "nodeSelector": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
                        ]
                    }
                },
            ),
        ):
            devices = [{"name": f"nic-{number}"} for number in range(self.chance.choice((1, 2)))]
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            self.slice(f"nics-{name}", {"driver": NIC_DRIVER, "pool": pool, "devices": devices, **where})

    def slice(self, name: str, spec: Json) -> None:
        self.slices.append({"metadata": {"name": name}, "spec": spec})

    def claim(self, name: str) -> None:
        requests = [self.request(f"r{number}") for number in range(self.chance.choice((1, 1, 1, 2)))]
        spec: Json = {"requests": requests}
        if self.often(0.3):
            spec["constraints"] = [{"matchAttribute": _NUMA}]
            if self.often(0.3):
                spec["constraints"][0]["requests"] = ["r0"]
        self.claims.append({"metadata": self.about(name), "spec": {"devices": spec}})

    def about(self, name: str) -> Json:
        return {"name": name, "namespace": self.namespace}

    def request(self, name: str) -> Json:
        if self.often(0.2):
            either = [{"name": f"way{number}", **self.wanted()} for number in range(2)]
            return {"name": name, "firstAvailable": either}
        return {"name": name, "exactly": self.wanted()}

    def wanted(self) -> Json:
        kind = "no-such-class" if self.often(0.03) else self.chance.choice((GPUS, GPUS, GPUS, GPUS, NICS, ANYTHING))
        made: Json = {"deviceClassName": kind}
        if self.often(0.15):
            made["allocationMode"] = "All"
        else:
            made |= {"allocationMode": "ExactCount", "count": self.chance.choice((1, 1, 2, 3))}
        if kind == GPUS and self.often(0.5):
            made["selectors"] = [{"cel": {"expression": self.chance.choice(_SELECTORS)}}]
        if self.often(0.2):
            made["tolerations"] = [{"key": "health", "operator": "Exists"}]
        return made

    def taken(self, name: str, one: Json) -> None:
        """A claim that has a device of a node already, and a user: nobody else may free it."""
        spec = one["spec"]
        self.claims.append(
            {
                "metadata": self.about(name),
                "spec": {"devices": {"requests": [{"name": "r0", "exactly": {"deviceClassName": GPUS}}]}},
            }
        )
        result = {"request": "r0", "driver": spec["driver"], "pool": spec["pool"]["name"]}
        result["device"] = self.chance.choice(spec["devices"])["name"]
        fields = [{"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}]
        self.allocated[name] = {
            "allocation": {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]},
            },
            "reservedFor": [{"resource": "pods", "name": "somebody", "uid": "somebody"}],
        }
