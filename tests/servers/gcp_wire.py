"""A fake of the Compute Engine API at the wire: **ours**, written from the published REST description (v1).

It knows instances, operations of zones, zones, types of machines and the price catalogue, as far as the Google backend
uses them. No emulator of Compute Engine exists; this one shows that the SDK and our adapter speak the documented
format, not that Google behaves so. Requests are signed by a service account, and the signature is verified.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.servers.wire import WireReply, WireRequest, WireServer

PROJECT = "lab-project"
ACCOUNT = f"dovetail@{PROJECT}.iam.gserviceaccount.com"
API_KEY = "a-key-of-the-test"
_ROOT = rf"/compute/v1/projects/{PROJECT}"
_ZONE = rf"{_ROOT}/zones/(?P<zone>[a-z0-9-]+)"
_COMPUTE_ENGINE = "6F81-5844-456A"
PAGE = 3
ZONES = {"us-central1-a": "us-central1", "us-central1-b": "us-central1", "us-east1-b": "us-east1"}
MACHINES = ["e2-standard-4", "e2-standard-8", "n2-standard-4", "n1-standard-4", "g2-standard-4"]


@dataclass
class WireInstance:
    body: dict[str, Any]
    zone: str
    created_at: float = field(default_factory=time.monotonic)
    status: str = "PROVISIONING"
    deleted_at: float | None = None


@dataclass
class WireOperation:
    name: str
    zone: str
    kind: str
    target: str
    ends_at: float
    error: tuple[str, str] | None = None
    applied: bool = False


class GcpWire(WireServer):
    """`no_stock`: types of machines without a place, each with the code and the message of the operation.
    `forbidden`: the account has no rights. `keyfile`: writes the key of the service account."""

    def __init__(self, provision_s: float = 0.05, delete_s: float = 0.05) -> None:
        super().__init__()
        self.provision_s, self.delete_s = provision_s, delete_s
        self.instances: dict[str, WireInstance] = {}
        self.operations: dict[str, WireOperation] = {}
        self.by_request: dict[str, str] = {}
        self.created: list[str] = []
        self.doubled: list[str] = []  # made while another of the same node existed
        self.no_stock: dict[str, tuple[str, str]] = {}
        self.forbidden = False
        self.skus: list[dict[str, Any]] = []
        self.console: Callable[[str], str] = lambda _: ""
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.route("POST", rf"{_ZONE}/instances", self._insert)
        self.route("GET", rf"{_ZONE}/instances/(?P<name>[^/]+)", self._get)
        self.route("GET", rf"{_ZONE}/instances/(?P<name>[^/]+)/serialPort", self._get_serial_port)
        self.route("DELETE", rf"{_ZONE}/instances/(?P<name>[^/]+)", self._delete)
        self.route("GET", rf"{_ROOT}/aggregated/instances", self._list)
        self.route("GET", rf"{_ROOT}/aggregated/operations", self._list_operations)
        self.route("GET", rf"{_ZONE}/operations/(?P<name>[^/]+)", self._get_operation)
        self.route("GET", rf"{_ROOT}/zones", self._list_zones)
        self.route("GET", rf"{_ZONE}/(?P<kind>machineTypes|acceleratorTypes)", self._list_types)
        self.route("GET", rf"/v1/services/{_COMPUTE_ENGINE}/skus", self._list_skus)

    # --- what a test asks --------------------------------------------------------------------------------------

    def keyfile(self, path: Path) -> Path:
        key = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        described = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": key.decode(),
            "client_email": ACCOUNT,
            "client_id": "1",
            "token_uri": f"{self.url}/token",
        }
        path.write_text(json.dumps(described))
        return path

    def running(self) -> dict[str, str]:
        """The node of each instance that runs, by its zone and name."""
        with self.lock:
            self._pass_time()
            return {
                f"{one.zone}/{name}": _metadata(one)["dovetail-node"]
                for name, one in self.instances.items()
                if one.status == "RUNNING"
            }

    def left(self) -> list[str]:
        with self.lock:
            self._pass_time()
            return list(self.instances)

    def script(self, name: str) -> str:
        """`name`: with its zone or without."""
        return str(_metadata(self.instances[name.rsplit("/", 1)[-1]])["startup-script"])

    def power_off(self, name: str) -> None:
        """As an instance does itself."""
        with self.lock:
            self.instances[name.rsplit("/", 1)[-1]].status = "TERMINATED"

    def preempt(self, name: str, *, stopping: bool = False) -> None:
        """As Google takes a spot machine back. `stopping`: it has been told, and is not gone yet."""
        with self.lock:
            one = self.instances[name]
            assert one.body["scheduling"]["provisioningModel"] == "SPOT"
            self._operation(one.zone, "compute.instances.preempted", name, 0.0)
            one.status = "STOPPING"
            if not stopping:
                del self.instances[name]

    # --- rights ------------------------------------------------------------------------------------------------

    def _refused(self, request: WireRequest, permission: str) -> WireReply | None:
        from google.auth import jwt

        public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        try:
            claims = jwt.decode(token, certs=public, audience=None)
        except ValueError as problem:
            return error(401, "authError", f"Request had invalid authentication credentials: {problem}")
        if claims["iss"] != ACCOUNT:
            return error(401, "authError", "Request had invalid authentication credentials.")
        if self.forbidden and request.method != "GET":
            return error(403, "forbidden", f"Required '{permission}' permission for 'projects/{PROJECT}'")
        return None

    # --- instances ---------------------------------------------------------------------------------------------

    def _insert(self, request: WireRequest, zone: str) -> WireReply:
        refused = self._refused(request, "compute.instances.create")
        if refused is not None:
            return refused
        self._pass_time()
        body, given = request.json(), request.query.get("requestId")
        if given is not None:
            UUID(given)
            if given in self.by_request:
                return WireReply(200, self._shown_operation(self.operations[self.by_request[given]]))
        problem = _problem(body, zone)
        if problem is not None:
            return error(400, "invalid", problem)
        name = body["name"]
        if name in self.instances:
            words = f"The resource 'projects/{PROJECT}/zones/{zone}/instances/{name}' already exists"
            return error(409, "alreadyExists", words)
        machine = body["machineType"].rsplit("/", 1)[-1]
        operation = self._operation(zone, "insert", name, self.provision_s, self.no_stock.get(machine))
        if given is not None:
            self.by_request[given] = operation.name
        made = WireInstance(body, zone)
        node = _metadata(made).get("dovetail-node")
        self.doubled += [name for one in self.instances.values() if _metadata(one).get("dovetail-node") == node]
        self.instances[name] = made
        self.created.append(name)
        return WireReply(200, self._shown_operation(operation))

    def _get(self, request: WireRequest, zone: str, name: str) -> WireReply:
        refused = self._refused(request, "compute.instances.get")
        if refused is not None:
            return refused
        self._pass_time()
        one = self.instances.get(name)
        if one is None or one.zone != zone:
            return self._missing(zone, name)
        return WireReply(200, self._shown(name, one))

    def _get_serial_port(self, request: WireRequest, zone: str, name: str) -> WireReply:
        """A negative start: the newest so many bytes. Only of one that runs."""
        refused = self._refused(request, "compute.instances.getSerialPortOutput")
        if refused is not None:
            return refused
        one = self.instances.get(name)
        if one is None or one.zone != zone:
            return self._missing(zone, name)
        if one.status != "RUNNING":
            return error(400, "resourceNotReady", f"The resource 'instances/{name}' is not ready")
        text = self.console(f"{zone}/{name}")
        start = int(request.query.get("start", "0"))
        first = max(0, len(text) + start) if start < 0 else start
        shown = {"kind": "compute#serialPortOutput", "contents": text[first:]}
        return WireReply(200, shown | {"start": str(first), "next": str(len(text))})

    def _delete(self, request: WireRequest, zone: str, name: str) -> WireReply:
        refused = self._refused(request, "compute.instances.delete")
        if refused is not None:
            return refused
        self._pass_time()
        one = self.instances.get(name)
        if one is None or one.zone != zone:
            return self._missing(zone, name)
        one.status = "STOPPING"
        one.deleted_at = one.deleted_at or time.monotonic() + self.delete_s
        return WireReply(200, self._shown_operation(self._operation(zone, "delete", name, self.delete_s)))

    def _list(self, request: WireRequest) -> WireReply:
        refused = self._refused(request, "compute.instances.list")
        if refused is not None:
            return refused
        self._pass_time()
        wanted = re.fullmatch(r'labels\.([a-z-]+) = "([^"]*)"', request.query["filter"])
        assert wanted is not None, request.query
        visible = time.monotonic() - self.faults.list_lag_s
        found = [
            (one.zone, self._shown(name, one))
            for name, one in self.instances.items()
            if one.body["labels"].get(wanted[1]) == wanted[2] and one.created_at <= visible
        ]
        return self._aggregated(request, "instances", found)

    def _missing(self, zone: str, name: str) -> WireReply:
        return error(404, "notFound", f"The resource 'projects/{PROJECT}/zones/{zone}/instances/{name}' was not found")

    def _shown(self, name: str, one: WireInstance) -> dict[str, Any]:
        url = f"{self.url}{_ROOT}/zones/{one.zone}"
        interfaces = [
            face | {"networkIP": f"10.128.0.{2 + len(self.created)}"} for face in one.body["networkInterfaces"]
        ]
        machine = one.body["machineType"].rsplit("/", 1)[-1]
        return one.body | {
            "kind": "compute#instance",
            "id": str(abs(hash(name)) % 10**18),
            "status": one.status,
            "zone": url,
            "machineType": f"{url}/machineTypes/{machine}",
            "selfLink": f"{url}/instances/{name}",
            "creationTimestamp": "2026-01-01T00:00:00.000-08:00",
            "networkInterfaces": interfaces,
        }

    # --- operations --------------------------------------------------------------------------------------------

    def _operation(
        self, zone: str, kind: str, name: str, takes_s: float, error: tuple[str, str] | None = None
    ) -> WireOperation:
        made = f"operation-{len(self.operations) + 1}"
        self.operations[made] = WireOperation(made, zone, kind, name, time.monotonic() + takes_s, error)
        return self.operations[made]

    def _pass_time(self) -> None:
        now = time.monotonic()
        for operation in self.operations.values():
            if operation.kind == "insert" and operation.ends_at <= now and not operation.applied:
                operation.applied = True
                one = self.instances.get(operation.target)
                if one is not None and operation.error is not None:
                    del self.instances[operation.target]
                elif one is not None and one.deleted_at is None:
                    one.status = "RUNNING"
        for name in [name for name, one in self.instances.items() if one.deleted_at and one.deleted_at <= now]:
            del self.instances[name]

    def _get_operation(self, request: WireRequest, zone: str, name: str) -> WireReply:
        refused = self._refused(request, "compute.zoneOperations.get")
        if refused is not None:
            return refused
        self._pass_time()
        found = self.operations.get(name)
        if found is None or found.zone != zone:
            return error(404, "notFound", f"The resource 'operations/{name}' was not found")
        return WireReply(200, self._shown_operation(found))

    def _list_operations(self, request: WireRequest) -> WireReply:
        refused = self._refused(request, "compute.globalOperations.list")
        if refused is not None:
            return refused
        wanted = re.fullmatch(r'operationType = "([^"]*)"', request.query["filter"])
        assert wanted is not None, request.query
        kinds = [one for one in self.operations.values() if one.kind == wanted[1]]
        return self._aggregated(request, "operations", [(one.zone, self._shown_operation(one)) for one in kinds])

    def _shown_operation(self, one: WireOperation) -> dict[str, Any]:
        done = one.ends_at <= time.monotonic()
        url = f"{self.url}{_ROOT}/zones/{one.zone}"
        shown: dict[str, Any] = {
            "kind": "compute#operation",
            "id": "1",
            "name": one.name,
            "zone": url,
            "operationType": one.kind,
            "status": "DONE" if done else "RUNNING",
            "progress": 100 if done else 0,
            "targetLink": f"{url}/instances/{one.target}",
            "selfLink": f"{url}/operations/{one.name}",
        }
        if done and one.error is not None:
            code, message = one.error
            shown |= {"httpErrorStatusCode": 503, "httpErrorMessage": "SERVICE UNAVAILABLE"}
            shown["error"] = {"errors": [{"code": code, "message": message}]}
        return shown

    # --- catalogues --------------------------------------------------------------------------------------------

    def _list_zones(self, request: WireRequest) -> WireReply:
        refused = self._refused(request, "compute.zones.list")
        if refused is not None:
            return refused
        url = f"{self.url}{_ROOT}"
        found = [{"name": zone, "region": f"{url}/regions/{region}", "status": "UP"} for zone, region in ZONES.items()]
        return WireReply(200, {"kind": "compute#zoneList", "id": "zones", "items": found})

    def _list_types(self, request: WireRequest, zone: str, kind: str) -> WireReply:
        refused = self._refused(request, f"compute.{kind}.list")
        if refused is not None:
            return refused
        names = MACHINES if kind == "machineTypes" else ["nvidia-tesla-t4"]
        if zone == "us-central1-b":
            names = [name for name in names if name not in ("g2-standard-4", "nvidia-tesla-t4")]
        start = int(request.query.get("pageToken") or "0")
        body: dict[str, Any] = {"items": [{"name": name, "zone": zone} for name in names[start : start + PAGE]]}
        if start + PAGE < len(names):
            body["nextPageToken"] = str(start + PAGE)
        return WireReply(200, body)

    def _list_skus(self, request: WireRequest) -> WireReply:
        if request.headers.get("x-goog-api-key") != API_KEY:
            return error(400, "badRequest", "API key not valid. Please pass a valid API key.")
        start = int(request.query.get("pageToken") or "0")
        more = str(start + PAGE) if start + PAGE < len(self.skus) else ""
        return WireReply(200, {"skus": self.skus[start : start + PAGE], "nextPageToken": more})

    def _aggregated(self, request: WireRequest, kind: str, found: list[tuple[str, dict[str, Any]]]) -> WireReply:
        start = int(request.query.get("pageToken") or "0")
        items: dict[str, Any] = {f"zones/{zone}": {"warning": {"code": "NO_RESULTS_ON_PAGE"}} for zone in ZONES}
        for zone, shown in found[start : start + PAGE]:
            items[f"zones/{zone}"].setdefault(kind, []).append(shown)
        body: dict[str, Any] = {"kind": f"compute#{kind}AggregatedList", "id": "all", "items": items}
        if start + PAGE < len(found):
            body["nextPageToken"] = str(start + PAGE)
        return WireReply(200, body)


def error(status: int, reason: str, message: str) -> WireReply:
    """As Google writes errors."""
    details = [{"message": message, "domain": "global", "reason": reason}]
    return WireReply(status, {"error": {"code": status, "message": message, "errors": details}})


def _metadata(one: WireInstance) -> dict[str, Any]:
    return {item["key"]: item["value"] for item in one.body["metadata"]["items"]}


def _problem(body: dict[str, Any], zone: str) -> str | None:
    """What Google would not accept at all."""
    if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", body.get("name", "")):
        return "Invalid value for field 'resource.name'"
    for key, value in body.get("labels", {}).items():
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) or not re.fullmatch(r"[a-z0-9_-]{0,63}", value):
            return f"Invalid value for field 'resource.labels': '{key}: {value}'"
    machine = re.fullmatch(r"zones/([a-z0-9-]+)/machineTypes/([a-z0-9-]+)", body.get("machineType", ""))
    if machine is None or machine[1] != zone or machine[2] not in MACHINES:
        return f"Invalid value for field 'resource.machineType': '{body.get('machineType')}'"
    if not body["disks"][0]["autoDelete"] or not body["disks"][0]["boot"]:
        return "The boot disk has to go with its instance in these tests"
    scheduling = body.get("scheduling", {})
    if body.get("guestAccelerators") and scheduling.get("onHostMaintenance") != "TERMINATE":
        return "Instances with guest accelerators do not support live migration."
    if scheduling.get("provisioningModel") == "SPOT" and scheduling.get("automaticRestart", True):
        return "Automatic restart is not supported for Spot VMs."
    return None
