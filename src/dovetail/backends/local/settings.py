"""Settings of the local backend, validated once at start."""

import re
import socket
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dovetail.backends.pricing import Priced
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY, ServerFile
from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.text.quantity import Bytes, Cores, Count, Duration
from dovetail.model.text.strict import MAX_NAME, Host, NodeName, Strict
from dovetail.model.workloads.run import MAX_PATH
from dovetail.model.workloads.selection import Labels, as_text

UserName = Annotated[str, BeforeValidator(as_text), Field(min_length=1, max_length=MAX_NAME)]


def _check_cgroup_parent(value: str) -> str:
    if not all(re.fullmatch(r"[A-Za-z0-9@_:-][A-Za-z0-9@_.:-]*", part, re.ASCII) for part in value.split("/")):
        raise ValueError(
            f"{value!r} is not a cgroup below the root of the hierarchy; write names separated by '/', "
            "such as dovetail or system.slice/dovetail"
        )
    return value


def _check_uids(value: str) -> str:
    found = re.fullmatch(r"(\d{1,10})-(\d{1,10})", value, re.ASCII)
    if not found or not 1 <= int(found[1]) <= int(found[2]) < 2**32 - 1:
        raise ValueError(f"{value!r} is not a range of users; write it as 2000000000-2000065535, without root")
    return value


class CapacityOverride(Strict):
    """What the node offers instead of the measured capacity. A missing field is measured."""

    cpu: Cores | None = None
    """Cores offered."""
    memory: Bytes | None = None
    """Memory offered."""
    disk: Bytes | None = None
    """Disk offered."""
    slots: Count | None = None
    """The most tasks at the same time."""


class LocalSettings(Priced):
    folder: ServerFile | None = None
    """The folder for run folders, with the output of tasks; by default one below `data`."""
    node: NodeName | None = None
    """The node's name; by default the host's name."""
    address: Host = "127.0.0.1"
    """Where others reach the services of this node. An agent takes the address from which it reaches the server."""
    labels: Labels = {}
    """Added to the measured `arch`, `os` and `hostname`, which they override."""
    capacity: CapacityOverride = CapacityOverride()
    """What the node offers instead of what was measured."""
    gpus: Annotated[list[Gpus], Field(max_length=MAX_DEVICES)] = []
    """Its GPUs, in the order in which programs number them. A task sees only its own."""
    grace_s: Duration = 10.0
    """From SIGTERM to SIGKILL, for workloads without `disruption.grace`."""
    observe_interval_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the use of the machine is measured."""
    keep_runs: Count = 10_000
    """The most ended run folders to keep."""
    keep_for_s: Duration = 7 * 86400.0
    """How long ended run folders are kept. Those of the last ten minutes always stay."""
    limits: Literal["auto", "rlimit"] = "auto"
    """`auto`: cgroups where they can be written, rlimits otherwise. `rlimit`: rlimits only."""
    cgroup_parent: Annotated[str, AfterValidator(_check_cgroup_parent)] = "dovetail"
    """The cgroup, from the root of the hierarchy, below which each attempt gets its own."""
    isolation: Annotated[Literal["auto", "none"], SETTINGS_FILE_ONLY] = "auto"
    """`auto`: commands get their own processes and mounts where the kernel allows that: they see neither the data of
    the server nor other tasks. `none`: they do not."""
    run_as: Annotated[
        Literal["auto", "server"] | dict[Annotated[str, Field(max_length=MAX_NAME)], UserName], SETTINGS_FILE_ONLY
    ] = "auto"
    """As whom commands run. `auto`: if the server is root, as a user for each namespace, from `uids`; else as the user
    of the server. `server`: always as the user of the server, even if that is root. A mapping from namespaces to users,
    such as `{team-a: alice, "*": nobody}`, is for a server that is root; `*` is every other namespace."""
    uids: Annotated[str, AfterValidator(_check_uids), SETTINGS_FILE_ONLY] | None = None
    """The numbers of the users that namespaces get, such as `2000000000-2000065535`, which is the default where the
    machine has them. They need no entry in `/etc/passwd`, and nobody else may have them."""
    groups: Annotated[list[UserName], Field(max_length=100), SETTINGS_FILE_ONLY] = []
    """Groups that all commands are members of if they run as users of their own, such as `render` for GPUs."""
    hide: Annotated[list[Annotated[str, Field(pattern="^/.", max_length=MAX_PATH)]], Field(max_length=100)] = []
    """Files and folders that commands do not see, beside the data of the server, such as a settings file with
    secrets."""
    processes: Annotated[Count, Field(ge=1)] = 4096
    """The most processes and threads of one task at a time."""
    output_limit: Annotated[Bytes, Field(ge=65536)] = 64 * 2**20
    """How much output of a task is kept: the newest. What is older is removed while it runs."""
    folder_limit: Bytes | None = None
    """The most that a task may keep in its own folder, measured every two seconds; a task with more is killed. By
    default a quarter of the disk."""

    def node_name(self) -> str:
        return self.node or node_name_of(socket.gethostname())


def node_name_of(hostname: str) -> str:
    """A valid node name for a host name: `10-0-0-7` becomes `node-10-0-0-7`."""
    words = [word for word in re.split(r"[^A-Za-z0-9.]+|\.{2,}", hostname) if word.strip(".")]
    name = "-".join(word.strip(".") for word in words)
    if not name[:1].isalpha():
        name = f"node-{name}" if name else "node"
    return name[:MAX_NAME].rstrip("-.")
