"""Dated tables of list prices of cloud machines, and nodes that simulations can launch at these prices.

`list_prices.csv`: prices of Linux machines in one region of each of three providers, in USD for an hour, at about the
date in the table. They were written down by hand, for simulations, and were not compared with a source; spot prices,
start-up times and interruptions are assumptions. What backends launch is priced by `backends.cloud_catalogue`.
"""

import csv
from dataclasses import dataclass
from importlib.resources import files

from dovetail.model.device import Gpus
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity

START_UP_S = {"aws": 120.0, "azure": 180.0, "gcp": 90.0}
"""From the request to a machine that runs work, with drivers in its image."""
SPOT_INTERRUPTION = 0.03
"""The chance to lose a spot machine in an hour: about 20 % in eight hours."""
GPU_DISK_BYTES = 100 * 2**30


@dataclass(frozen=True, slots=True)
class ListedMachine:
    """One line: a type of machine in a zone."""

    provider: str
    region: str
    zone: str
    type: str
    vcpu: int
    memory_gib: float
    gpu: int
    gpu_model: str
    on_demand_usd_h: float
    spot_usd_h: float
    date: str

    def node(self, name: str, spot: bool) -> Node:
        """A machine of this type that does not run yet."""
        offer = Offer(
            price_per_hour=self.spot_usd_h if spot else self.on_demand_usd_h,
            running=False,
            start_up=START_UP_S[self.provider],
            spot=spot,
            interruption=SPOT_INTERRUPTION if spot else 0.0,
            place=f"{self.provider}/{self.region}",
        )
        return Node(
            name=name,
            backend=self.provider,
            capacity=Capacity(cpu=self.vcpu, memory=round(self.memory_gib * 2**30), disk=GPU_DISK_BYTES, gpu=self.gpu),
            gpus=[Gpus(count=self.gpu, model=self.gpu_model)] if self.gpu else [],
            labels={"instance-type": self.type.replace("+", "-"), "zone": self.zone, "region": self.region},
            offer=offer,
        )


def list_prices() -> list[ListedMachine]:
    text = files(__package__).joinpath("list_prices.csv").read_text(encoding="utf-8")
    return [
        ListedMachine(
            *(row["provider"], row["region"], row["zone"], row["type"]),
            *(int(row["vcpu"]), float(row["memory_gib"]), int(row["gpu"]), row["gpu_model"]),
            *(float(row["on_demand_usd_h"]), float(row["spot_usd_h"]), row["date"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]
