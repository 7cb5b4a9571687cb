"""A fabric: hosts that are network namespaces, leaf and spine switches that are bridges, and wires between switches.

    host ── leaf ══ spine ══ core        ── a cable (veth), its rate can be limited
                                         ══ a wire (`wires`), with a delay and a loss that tests change

A fabric is described by where each switch hangs: `{"leaf-1": "spine-1", "spine-1": None}`. One host more, `control`, is
for the control plane; this machine reaches it at `control_address`. All of it goes when the fabric is closed.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from tests.servers.fabric.namespaces import ip, remove_leftovers, tc

CONTROL = "control"
_SUBNETS = 250


class Fabric:
    """`switches`: by name, the one above it or None for those at the top, which hang on one another's bridge.
    `hosts`: by name, its leaf; the control plane's host hangs on `control_at`."""

    def __init__(self, switches: Mapping[str, str | None], hosts: Mapping[str, str], control_at: str) -> None:
        self.switches, self.hosts = dict(switches), {CONTROL: control_at, **hosts}
        self._prefix = f"dvt{os.getpid()}"
        self._wires: subprocess.Popen[str] | None = None
        subnet = os.getpid() % _SUBNETS
        self._here, self.control_address = f"10.98.{subnet}.1", f"10.98.{subnet}.2"
        self._cable = f"dvt{os.getpid() % 10**8}"  # to this machine
        self._is_connected = False
        self._made: list[str] = []

    # --- names -------------------------------------------------------------------------------------------------

    def namespace(self, host: str) -> str:
        return f"{self._prefix}-{host}"

    def address(self, host: str) -> str:
        """In the fabric."""
        return f"10.97.0.{list(self.hosts).index(host) + 1}"

    @property
    def wires(self) -> list[str]:
        """By the switch below; the wire goes to the one above it."""
        return [name for name, above in self.switches.items() if above is not None]

    def rtt_ms(self, one: str, other: str, delays_ms: Mapping[str, float]) -> float:
        """The delays on the way between two hosts, there and back."""
        ways = [self._way(self.hosts[one]), self._way(self.hosts[other])]
        return 2 * sum(delays_ms.get(wire, 0.0) for wire in set(ways[0]) ^ set(ways[1]))

    def _way(self, switch: str) -> list[str]:
        """The wires from a switch to the top."""
        found: list[str] = []
        while (above := self.switches[switch]) is not None:
            found.append(switch)
            switch = above
        return found

    # --- building and removing -----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        remove_leftovers()
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def _build(self) -> None:
        middle = self.namespace("fabric")
        for name in (middle, *(self.namespace(host) for host in self.hosts)):
            ip([f"netns add {name}"])
            self._made.append(name)
        self._wires = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.fabric.wires", middle, *self.wires],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._wires.stdout is not None
        assert self._wires.stdout.readline() == "ready\n", "the wires did not start"
        ip([*self._switch_lines(), "link set lo up"], middle)
        for host in self.hosts:
            self._connect(host, middle)
        self._connect_this_machine()

    def _switch_lines(self) -> list[str]:
        lines = [f"link add {name} type bridge" for name in self.switches]
        lines += [f"link set {name} up" for name in self.switches]
        for below, above in self.switches.items():
            if above is not None:
                lines += [f"link set {below}.a master {below} up", f"link set {below}.b master {above} up"]
        return lines

    def _connect(self, host: str, middle: str) -> None:
        own, plug = self.namespace(host), f"p-{host}"
        ip([f"link add {plug} netns {middle} type veth peer name eth0 netns {own}"])
        ip([f"link set {plug} master {self.hosts[host]} up"], middle)
        ip(["link set lo up", f"address add {self.address(host)}/16 dev eth0", "link set eth0 up"], own)

    def _connect_this_machine(self) -> None:
        own, cable = self.namespace(CONTROL), self._cable
        ip(
            [
                f"link add {cable} type veth peer name outside netns {own}",
                f"address add {self._here}/30 dev {cable}",
                f"link set {cable} up",
            ]
        )
        self._is_connected = True
        ip([f"address add {self.control_address}/30 dev outside", "link set outside up"], own)

    def close(self) -> None:
        if self._wires is not None:
            assert self._wires.stdin is not None
            assert self._wires.stdout is not None
            self._wires.stdin.close()
            self._wires.wait(timeout=10)
            self._wires.stdout.close()
        if self._is_connected:
            ip([f"link delete {self._cable}"])
            self._is_connected = False
        for name in reversed(self._made):
            ip([f"netns delete {name}"])  # with its ends of all cables
        self._made.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- changing --------------------------------------------------------------------------------------------------

    def set_wire(self, switch: str, delay_ms: float = 0.0, loss: float = 0.0) -> None:
        """Of the wire from a switch to the one above it. A loss of 1 cuts it."""
        assert self._wires is not None
        assert self._wires.stdin is not None
        assert self._wires.stdout is not None
        self._wires.stdin.write(f"{switch} {delay_ms} {loss}\n")
        self._wires.stdin.flush()
        assert self._wires.stdout.readline() == "set\n", "the wires have ended"

    def limit_rate(self, host: str, mbit: int) -> None:
        """Of the cable of a host, in both directions."""
        shape = f"root tbf rate {mbit}mbit burst 8kb latency 500ms"
        tc([f"qdisc replace dev eth0 {shape}"], self.namespace(host))
        tc([f"qdisc replace dev p-{host} {shape}"], self.namespace("fabric"))

    def set_cable(self, host: str, *, up: bool) -> None:
        """Plug a host in, or out."""
        ip([f"link set p-{host} {'up' if up else 'down'}"], self.namespace("fabric"))

    def run(self, host: str, command: Sequence[str]) -> str:
        """What a command prints there."""
        words = ["ip", "netns", "exec", self.namespace(host), *command]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
