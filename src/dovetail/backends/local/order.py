"""Turns an assignment into the order for its supervisor, and refuses what this backend cannot run.

The command gets a clean environment: PATH, HOME, LANG and TMPDIR of the control plane (if it runs as another user, the
home of that, or its working folder), the workload's own variables, those of `Assignment.variables` and, if it has GPUs,
CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES: their UUIDs if the settings give them, else their numbers. A share of
a GPU is not enforced: the task sees the whole GPU.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail.backends.commands_only import refuse_all_but_commands
from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.local.enforcement import Enforcement
from dovetail.backends.local.isolation import NOT_ISOLATED, Isolation, TaskUser
from dovetail.backends.local.supervisor.run_files import WORK, pack
from dovetail.model.device import Device
from dovetail.model.text.quantity import format_bytes, format_duration
from dovetail.model.workloads.selection import MAX_LABEL, Labels


def refuse_what_cannot_run(assignment: Assignment, node: str) -> None:
    if assignment.node != node:
        raise Refusal(f"this backend has the node {node!r}, not {assignment.node!r}")
    refuse_all_but_commands(assignment.spec, "the local backend")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for every command of a backend. Limits are bytes."""

    enforcement: Enforcement
    usual_grace_s: float
    devices: Sequence[Device] = ()
    isolation: Isolation = NOT_ISOLATED
    output_limit: int | None = None
    folder_limit: int | None = None

    def unenforced(self) -> dict[str, str]:
        """What is not enforced here, and why."""
        limits = {"cpu limits": "no cgroups that the server can write"} if self.enforcement.cpu is None else {}
        return limits | self.isolation.missing

    def labels(self) -> Labels:
        """What the node says about it: what enforces limits, what keeps commands apart, what nothing enforces."""
        found = {"limits": self.enforcement.kind, "isolation": self.isolation.words()}
        missing = ", ".join(self.unenforced())
        return found | ({"unenforced": missing[:MAX_LABEL]} if missing else {})


def write_order(assignment: Assignment, run: Path, around: Surroundings, user: TaskUser | None = None) -> bytes:
    """The workload's grace period takes precedence over the usual one. `user`: None for that of the server."""
    spec, work = assignment.spec, run / WORK
    grace_s = around.usual_grace_s if spec.disruption.grace is None else spec.disruption.grace
    home = os.environ.get("HOME", "/") if user is None else user.home or str(work)
    pairs = [("arg", argument) for argument in spec.run.command]
    pairs += [("env", f"{name}={value}") for name, value in _environment(assignment, around.devices, home).items()]
    pairs += [*_workdir(assignment, work), ("node", assignment.node), ("grace_s", repr(float(grace_s)))]
    pairs += [*around.isolation.orders(), *([] if user is None else user.orders())]
    if around.output_limit is not None:
        pairs.append(("output_limit_bytes", str(around.output_limit)))
    if around.folder_limit is not None:
        pairs += [("folder_limit_bytes", str(around.folder_limit)), ("folder_limit", format_bytes(around.folder_limit))]
    if spec.run.stdin:
        pairs.append(("stdin", "open"))
    if spec.deadline.run_for is not None:
        pairs += [
            ("run_for_s", repr(float(spec.deadline.run_for))),
            ("run_for", format_duration(spec.deadline.run_for)),
        ]
    return pack(pairs + around.enforcement.orders(assignment.key, spec.limits))


def _workdir(assignment: Assignment, own: Path) -> list[tuple[str, str]]:
    """Where it runs: where the workload says, else where it was submitted if its user can enter that, else `own`."""
    given = assignment.spec.run
    if given.workdir is not None:
        return [
            ("workdir", str(own / given.workdir)),
            *([] if given.workdir.startswith("/") else [("own_folder", "yes")]),
        ]
    if given.submit_dir is None:
        return [("workdir", str(own)), ("own_folder", "yes")]
    return [("submit_dir", given.submit_dir), ("workdir", str(own))]


def _environment(assignment: Assignment, devices: Sequence[Device], home: str) -> dict[str, str]:
    visible = ",".join(assignment.device_ids(devices))
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "TMPDIR": tempfile.gettempdir(),
        **assignment.spec.run.env,
        **assignment.variables(),
        **({"CUDA_VISIBLE_DEVICES": visible, "NVIDIA_VISIBLE_DEVICES": visible} if visible else {}),
    }
