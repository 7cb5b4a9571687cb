"""How the commands of this backend are kept apart from the control plane, from each other and from the machine.

What this machine allows is tried once, at start, in a process of its own: the same steps that every supervisor takes.
The node's label `isolation` says what is in force, and `unenforced` what is not.

A server that is root runs commands as other users: those that `run_as` names, else one for each namespace of workloads,
from the range `uids`. Which namespace has which is written down, so that it keeps it.
"""

import grp
import json
import os
import pwd
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.local.settings import LocalSettings
from dovetail.backends.local.supervisor.containment import CGROUPS

Pairs = list[tuple[str, str]]

USUAL_UIDS = range(2_000_000_000, 2_000_065_536)  # above what systemd, containers and directory services hand out
USERS_FILE = ".users.json"
_SETUID_CAPABILITIES = (0, 5, 6, 7)  # CAP_CHOWN, CAP_KILL, CAP_SETGID, CAP_SETUID
_PROBE_S = 30.0


@dataclass(frozen=True, slots=True)
class Isolation:
    """`users`: commands run as users of their own. `namespaces`: with their own processes and mounts, for which an
    ordinary user needs a namespace of users as well. `own_proc`: with a /proc of their own. `missing`: why something is
    not in force, by what it is."""

    users: bool = False
    namespaces: bool = False
    user_namespace: bool = False
    own_proc: bool = False
    no_new_privs: bool = False
    hide: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)

    def orders(self) -> Pairs:
        """The lines of an order that keep a command apart, without its user."""
        found: Pairs = [("no_new_privs", "yes")] if self.no_new_privs else []
        if self.namespaces:
            kinds = ["pid", "mount", *(["user"] if self.user_namespace else [])]
            found += [("namespace", kind) for kind in kinds] + [("hide", path) for path in self.hide]
            found += [("read_only", CGROUPS)] if Path(CGROUPS).exists() else []
            found += [("own_proc", "yes")] if self.own_proc else []
        return found

    def words(self) -> str:
        """What is in force, in one word for each."""
        names = {"users": self.users, "processes": self.namespaces, "mounts": self.namespaces}
        return "+".join(name for name, on in names.items() if on) or "none"


NOT_ISOLATED = Isolation()


@dataclass(frozen=True, slots=True)
class TaskUser:
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str | None

    def orders(self) -> Pairs:
        groups = [("group", str(group)) for group in self.groups]
        return [("uid", str(self.uid)), ("gid", str(self.gid)), *groups]


class TaskUsers:
    """The user of each namespace of workloads. Guarantees: a namespace keeps its user, and shares it with no other,
    unless `run_as` says so."""

    def __init__(self, folder: Path, settings: LocalSettings, uids: range) -> None:
        self._file = folder / USERS_FILE
        self._settings = settings
        self._uids = uids
        self._groups = tuple(_group_number(group) for group in settings.groups)
        self._given: dict[str, int] | None = None
        self._lock = threading.Lock()  # several tasks begin at once, on threads

    def of(self, namespace: str) -> TaskUser | None:
        """None: the user of the server."""
        run_as = self._settings.run_as
        named = run_as.get(namespace, run_as.get("*")) if isinstance(run_as, dict) else None
        if named == "server" or run_as == "server":
            return None
        if named is not None:
            return self._known(named)
        with self._lock:
            uid = self._uid_of(namespace)
        return TaskUser(uid, uid, self._groups, None)

    def _known(self, named: str | int) -> TaskUser:
        found = find_user(named)
        if found is None:
            return TaskUser(int(named), int(named), self._groups, None)
        groups = sorted({*os.getgrouplist(found.pw_name, found.pw_gid), *self._groups})
        return TaskUser(found.pw_uid, found.pw_gid, tuple(groups), found.pw_dir)

    def _uid_of(self, namespace: str) -> int:
        if self._given is None:
            try:
                self._given = json.loads(self._file.read_bytes())
            except FileNotFoundError:
                self._given = {}
        if namespace not in self._given:
            taken = set(self._given.values())
            uid = next((uid for uid in self._uids if uid not in taken), None)
            if uid is None:
                raise OSError(f"all {len(self._uids)} users of uids are in use; widen uids, or name users in run_as")
            given = self._given | {namespace: uid}
            draft = self._file.with_suffix(".draft")
            draft.write_text(json.dumps(given))
            draft.replace(self._file)
            self._given = given
        return self._given[namespace]


def find_user(named: str | int) -> pwd.struct_passwd | None:
    """None for a number without an entry. Raises UnusableSetting for a name without one."""
    try:
        return pwd.getpwuid(int(named)) if str(named).isdigit() else pwd.getpwnam(str(named))
    except KeyError:
        if str(named).isdigit():
            return None
        raise UnusableSetting("run_as", f"this machine has no user {named!r}; write one it has, or a number") from None


def _group_number(named: str) -> int:
    try:
        return int(named) if named.isdigit() else grp.getgrnam(named).gr_gid
    except KeyError:
        raise UnusableSetting("groups", f"this machine has no group {named!r}; write one it has, or a number") from None


def usable_uids(settings: LocalSettings, uid_map: str | None = None) -> range:
    """The range of the settings; else the usual one, or the last quarter of what this container may use, without
    root: none if it has no others."""
    if settings.uids is not None:
        first, _, last = settings.uids.partition("-")
        return range(int(first), int(last) + 1)
    text = Path("/proc/self/uid_map").read_text() if uid_map is None else uid_map
    ranges = [range(int(line.split()[0]), int(line.split()[0]) + int(line.split()[2])) for line in text.splitlines()]
    if any(USUAL_UIDS[0] in each and USUAL_UIDS[-1] in each for each in ranges):
        return USUAL_UIDS
    longest = max(ranges, key=len)
    few = longest[-max(1, len(longest) // 4) :]
    return range(max(1, few.start), few.stop)


def find_isolation(settings: LocalSettings, program: Path, hide: list[str]) -> Isolation:
    """The best that this machine and the settings allow. `program`: `probe.py`, compiled beside the supervisor. Raises
    UnusableSetting."""
    missing: dict[str, str] = {}
    is_root, may_switch = os.geteuid() == 0, _may_switch_users() and bool(usable_uids(settings))
    if isinstance(settings.run_as, dict) and not (is_root and may_switch):
        raise UnusableSetting("run_as", "only a server that is root can run commands as other users; leave it out")
    users = settings.run_as != "server" and is_root and may_switch
    if not users:
        why = "the server is not root" if not is_root else "the server may not change users"
        missing["users"] = "the settings say so" if settings.run_as == "server" and is_root else why
    if settings.isolation == "none":
        return Isolation(users=users, missing=missing | {"namespaces": "the settings say so"})
    tried = _probe(program, hide)
    if "namespaces" in tried:
        missing["namespaces"] = tried["namespaces"]
    elif "own_proc" in tried:
        missing["own_proc"] = tried["own_proc"]
    elif is_root and not users:
        missing["root"] = "commands run as root, which can leave its namespaces"
    if "no_new_privs" in tried:
        missing["no_new_privs"] = tried["no_new_privs"]
    return Isolation(
        users=users,
        namespaces="namespaces" not in tried,
        user_namespace="user_namespace" in tried,
        own_proc="own_proc" not in tried,
        no_new_privs="no_new_privs" not in tried,
        hide=tuple(hide),
        missing=missing,
    )


def _may_switch_users() -> bool:
    status = Path("/proc/self/status").read_text().splitlines()
    effective = int(next(line.split()[1] for line in status if line.startswith("CapEff:")), 16)
    return all(effective >> bit & 1 for bit in _SETUID_CAPABILITIES)


def _probe(program: Path, hide: list[str]) -> dict[str, str]:
    """What failed and why, and `user_namespace` if one was needed."""
    command = [sys.executable, "-I", "-S", str(program), *hide]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_S, check=False)  # noqa: S603
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2]
        return {"namespaces": last or "the trial failed", "no_new_privs": "the trial failed"}
    return dict(line.split("=", 1) for line in done.stdout.splitlines())
