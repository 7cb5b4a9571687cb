"""A fake of Azure Resource Manager at the wire: **ours**, written from the published REST descriptions.

It knows virtual machines, network interfaces, disks, public addresses, asynchronous operations, the token endpoint and
the retail prices, as far as the Azure backend uses them. No emulator of Azure's machines exists; this one shows that
the SDK and our adapter speak the documented format, not that Azure behaves so. Descriptions: Microsoft.Compute
`virtualMachines`, Microsoft.Network `networkInterfaces`, "Track asynchronous Azure operations", "Common deployment
errors".
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from tests.servers.certificates import Certificate
from tests.servers.wire import WireReply, WireRequest, WireServer

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
TENANT = "99999999-8888-7777-6666-555555555555"
CLIENT, SECRET = "00000000-1111-2222-3333-444444444444", "the-secret-of-the-principal"
GROUP = "dovetail"
_ROOT = rf"/subscriptions/{SUBSCRIPTION}/resourceGroups/{GROUP}/providers"
_COMPUTE, _NETWORK = f"{_ROOT}/Microsoft.Compute", f"{_ROOT}/Microsoft.Network"
PAGE = 3  # things on a page of a list


@dataclass
class WireVm:
    """`ready_at`: when its provisioning ends. `failure`: code and message with which it ends."""

    body: dict[str, Any]
    ready_at: float
    created_at: float
    failure: tuple[str, str] | None = None
    deleted_at: float | None = None
    power: str = "running"


@dataclass
class Part:
    """An interface, a disk or an address. `used_by`: the id of what it belongs to."""

    body: dict[str, Any]
    used_by: str | None
    goes_with_vm: bool
    created_at: float = field(default_factory=time.monotonic)


class AzureWire(WireServer):
    """`no_stock`: sizes without a place, each with the error code; those that Azure notices only after it has accepted
    the machine are in `LATE`. `cores`: how many there may be. `forbidden`: the principal has no rights."""

    LATE = ("AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest")

    def __init__(self, certificate: Certificate, provision_s: float = 0.05, delete_s: float = 0.05) -> None:
        super().__init__(certificate)
        self.provision_s, self.delete_s = provision_s, delete_s
        self.vms: dict[str, WireVm] = {}
        self.parts: dict[str, dict[str, Part]] = {"networkInterfaces": {}, "disks": {}, "publicIPAddresses": {}}
        self.created: list[str] = []
        self.doubled: list[str] = []  # made while another of the same node existed
        self.no_stock: dict[str, str] = {}
        self.cores: int | None = None
        self.forbidden = False
        self.prices: list[dict[str, Any]] = []
        self.skus: list[dict[str, Any]] = []
        self.console: Callable[[str], str] = lambda _: ""
        self._token = uuid4().hex
        vm = rf"{_COMPUTE}/virtualMachines/(?P<name>[^/]+)"
        self.route("GET", rf"/{TENANT}/v2.0/\.well-known/openid-configuration", self._discover)
        self.route("POST", rf"/{TENANT}/oauth2/v2.0/token", self._give_token)
        self.route("PUT", vm, self._put_vm)
        self.route("GET", vm, self._get_vm)
        self.route("DELETE", vm, self._delete_vm)
        self.route("POST", rf"{vm}/retrieveBootDiagnosticsData", self._give_diagnostics)
        self.route("GET", r"/blobs/(?P<name>[^/]+)/serial\.log", self._give_serial_log)
        self.route("GET", rf"{_COMPUTE}/virtualMachines", self._list_vms)
        for kind, root in (("networkInterfaces", _NETWORK), ("disks", _COMPUTE), ("publicIPAddresses", _NETWORK)):
            self.route("GET", rf"{root}/(?P<kind>{kind})", self._list_parts)
            self.route("DELETE", rf"{root}/(?P<kind>{kind})/(?P<name>[^/]+)", self._delete_part)
        self.route("GET", r"/api/retail/prices", self._give_prices)
        self.route("GET", rf"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/skus", self._list_skus)

    # --- what a test asks --------------------------------------------------------------------------------------

    def running(self) -> dict[str, str]:
        """The node of each machine that runs, by its name."""
        with self.lock:
            self._pass_time()
            return {name: vm.body["tags"]["dovetail-node"] for name, vm in self.vms.items() if self._runs(vm)}

    def left(self) -> dict[str, list[str]]:
        """All that exists, by sort."""
        with self.lock:
            self._pass_time()
            return {"virtualMachines": list(self.vms), **{kind: list(parts) for kind, parts in self.parts.items()}}

    def script(self, name: str) -> str:
        import base64

        return base64.b64decode(self.vms[name].body["properties"]["osProfile"]["customData"]).decode()

    def power_off(self, name: str) -> None:
        """As a machine does itself: it stands still, and is paid for."""
        with self.lock:
            self.vms[name].power = "stopped"

    def evict(self, name: str) -> None:
        """As Azure takes a spot machine back with the policy Delete."""
        with self.lock:
            self._remove_vm(name)

    def _runs(self, vm: WireVm) -> bool:
        ready = vm.failure is None and time.monotonic() >= vm.ready_at and vm.deleted_at is None
        return ready and vm.power == "running"

    # --- tokens ------------------------------------------------------------------------------------------------

    def _discover(self, _: WireRequest) -> WireReply:
        base = f"{self.url}/{TENANT}"
        found = {
            "token_endpoint": f"{base}/oauth2/v2.0/token",
            "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            "issuer": f"{base}/v2.0",
        }
        return WireReply(200, found)

    def _give_token(self, request: WireRequest) -> WireReply:
        given = request.raw.decode()
        if f"client_id={CLIENT}" not in given or f"client_secret={SECRET}" not in given:
            words = "AADSTS7000215: Invalid client secret provided."
            return WireReply(401, {"error": "invalid_client", "error_description": words})
        return WireReply(200, {"token_type": "Bearer", "expires_in": 3599, "access_token": self._token})

    def _refused(self, request: WireRequest, action: str) -> WireReply | None:
        if request.headers.get("authorization") != f"Bearer {self._token}":
            return error(401, "InvalidAuthenticationToken", "The access token is missing or invalid.")
        if "api-version" not in request.query:
            return error(400, "MissingApiVersionParameter", "The api-version query parameter is required.")
        if self.forbidden and request.method != "GET":
            words = (
                f"The client '{CLIENT}' does not have authorization to perform action '{action}' over scope '{_ROOT}'."
            )
            return error(403, "AuthorizationFailed", words)
        return None

    # --- virtual machines --------------------------------------------------------------------------------------

    def _put_vm(self, request: WireRequest, name: str) -> WireReply:
        refused = self._refused(request, "Microsoft.Compute/virtualMachines/write")
        if refused is not None:
            return refused
        self._pass_time()
        body = request.json()
        known = self.vms.get(name)
        if known is not None and request.headers.get("if-none-match") == "*":
            return error(412, "ConditionNotMet", "The condition specified using HTTP conditional headers is not met.")
        if known is not None:
            words = "Changing property 'osProfile.customData' is not allowed."
            return error(409, "PropertyChangeNotAllowed", words)
        problem = _problem(body) or self._no_place(body)
        if problem is not None:
            return problem
        size = body["properties"]["hardwareProfile"]["vmSize"]
        late = self.no_stock.get(size)
        failure = None if late is None else (late, f"Allocation failed. We do not have sufficient capacity for {size}.")
        now = time.monotonic()
        vm = WireVm(body, now + self.provision_s, now, failure)
        node = body["tags"].get("dovetail-node")
        self.doubled += [name for one in self.vms.values() if one.body["tags"].get("dovetail-node") == node]
        self.vms[name] = vm
        self.created.append(name)
        self._make_parts(name, body)
        return WireReply(201, self._shown(name, vm, with_view=False), self._operation())

    def _no_place(self, body: dict[str, Any]) -> WireReply | None:
        size = body["properties"]["hardwareProfile"]["vmSize"]
        code = self.no_stock.get(size)
        if code is not None and code not in self.LATE:
            place = body["location"]
            words = (
                f"The requested VM size {size} is currently not available in location '{place}'. Please try another."
            )
            return error(409, code, words)
        if self.cores is not None:
            used = 4 * len(self.vms)
            if used + 4 > self.cores:
                words = (
                    "Operation could not be completed as it results in exceeding approved standardDSv5Family Cores"
                    f" quota. Current Limit: {self.cores}, Current Usage: {used}, Additional Required: 4."
                )
                return error(409, "OperationNotAllowed", words)
        return None

    def _make_parts(self, name: str, body: dict[str, Any]) -> None:
        tags, vm_id = body["tags"], f"{_COMPUTE}/virtualMachines/{name}"
        disk = body["properties"]["storageProfile"]["osDisk"]
        shown = {
            "id": f"{_COMPUTE}/disks/{disk['name']}",
            "name": disk["name"],
            "tags": tags,
            "location": body["location"],
        }
        self.parts["disks"][disk["name"]] = Part(shown, vm_id, disk.get("deleteOption") == "Delete")
        for wanted in body["properties"]["networkProfile"]["networkInterfaceConfigurations"]:
            nic, props = wanted["name"], wanted["properties"]
            nic_id = f"{_NETWORK}/networkInterfaces/{nic}"
            address = {"privateIPAddress": f"10.0.0.{4 + len(self.created)}", "primary": True}
            public = props["ipConfigurations"][0]["properties"].get("publicIPAddressConfiguration")
            ip: list[dict[str, Any]] = [
                {"name": "main", "id": f"{nic_id}/ipConfigurations/main", "properties": address}
            ]
            shown = {"id": nic_id, "name": nic, "tags": wanted.get("tags"), "properties": {"ipConfigurations": ip}}
            goes = props.get("deleteOption") == "Delete"
            self.parts["networkInterfaces"][nic] = Part(shown, vm_id, goes)
            if public is not None:
                shown = {"id": f"{_NETWORK}/publicIPAddresses/{public['name']}", "name": public["name"]}
                goes = public["properties"].get("deleteOption") == "Delete"
                self.parts["publicIPAddresses"][public["name"]] = Part(
                    shown | {"tags": public["tags"]}, ip[0]["id"], goes
                )

    def _get_vm(self, request: WireRequest, name: str) -> WireReply:
        refused = self._refused(request, "Microsoft.Compute/virtualMachines/read")
        if refused is not None:
            return refused
        self._pass_time()
        vm = self.vms.get(name)
        if vm is None:
            words = (
                f"The Resource 'Microsoft.Compute/virtualMachines/{name}' under resource group '{GROUP}' was not found."
            )
            return error(404, "ResourceNotFound", words)
        return WireReply(200, self._shown(name, vm, with_view=request.query.get("$expand") == "instanceView"))

    def _give_diagnostics(self, request: WireRequest, name: str) -> WireReply:
        """Addresses with a signature, which is all that the storage asks for."""
        refused = self._refused(request, "Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action")
        if refused is not None:
            return refused
        vm = self.vms.get(name)
        if vm is None:
            return error(404, "ResourceNotFound", f"The Resource '{name}' was not found.")
        wanted = vm.body["properties"].get("diagnosticsProfile", {}).get("bootDiagnostics", {})
        if not wanted.get("enabled"):
            return error(409, "BootDiagnosticsNotEnabled", "Boot diagnostics is not enabled.")
        there = f"{self.url}/blobs/{name}"
        uris = {"consoleScreenshotBlobUri": f"{there}/screenshot.bmp?sig=s", "serialConsoleLogBlobUri": ""}
        return WireReply(200, uris | {"serialConsoleLogBlobUri": f"{there}/serial.log?sig={self._token[:8]}"})

    def _give_serial_log(self, request: WireRequest, name: str) -> WireReply:
        if request.query.get("sig") != self._token[:8] or "authorization" in request.headers:
            return WireReply(403, b"AuthenticationFailed")
        return WireReply(200, self.console(name).encode())

    def _list_vms(self, request: WireRequest) -> WireReply:
        refused = self._refused(request, "Microsoft.Compute/virtualMachines/read")
        if refused is not None:
            return refused
        self._pass_time()
        visible = time.monotonic() - self.faults.list_lag_s
        shown = [self._shown(name, vm, with_view=False) for name, vm in self.vms.items() if vm.created_at <= visible]
        return self._page(request, shown)

    def _delete_vm(self, request: WireRequest, name: str) -> WireReply:
        refused = self._refused(request, "Microsoft.Compute/virtualMachines/delete")
        if refused is not None:
            return refused
        self._pass_time()
        if name not in self.vms:
            return WireReply(204)
        vm = self.vms[name]
        vm.deleted_at = vm.deleted_at or time.monotonic() + self.delete_s
        return WireReply(202, None, self._operation())

    def _shown(self, name: str, vm: WireVm, *, with_view: bool) -> dict[str, Any]:
        ready = time.monotonic() >= vm.ready_at
        state = "Deleting" if vm.deleted_at else "Creating" if not ready else "Failed" if vm.failure else "Succeeded"
        given = vm.body["properties"]
        nics = [
            part.body["id"]
            for part in self.parts["networkInterfaces"].values()
            if part.used_by and name in part.used_by
        ]
        system = {key: value for key, value in given["osProfile"].items() if key != "customData"}  # never shown again
        properties = {
            **given,
            "osProfile": system,
            "provisioningState": state,
            "vmId": str(uuid4()),
            "timeCreated": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            "networkProfile": {"networkInterfaces": [{"id": one} for one in nics]},
        }
        if with_view:
            properties["instanceView"] = {"statuses": self._statuses(vm, state)}
        top = {key: value for key, value in vm.body.items() if key in ("location", "tags", "zones")}
        kind = "Microsoft.Compute/virtualMachines"
        return {"id": f"{_COMPUTE}/virtualMachines/{name}", "name": name, "type": kind, **top, "properties": properties}

    def _statuses(self, vm: WireVm, state: str) -> list[dict[str, str]]:
        if state == "Failed" and vm.failure is not None:
            code, words = vm.failure
            return [{"code": f"ProvisioningState/failed/{code}", "level": "Error", "message": words}]
        statuses = [{"code": f"ProvisioningState/{state.lower()}", "level": "Info"}]
        if state == "Succeeded":
            statuses.append({"code": f"PowerState/{vm.power}", "level": "Info", "displayStatus": f"VM {vm.power}"})
        return statuses

    def _pass_time(self) -> None:
        now = time.monotonic()
        for name in [name for name, vm in self.vms.items() if vm.deleted_at and vm.deleted_at <= now]:
            self._remove_vm(name)

    def _remove_vm(self, name: str) -> None:
        self.vms.pop(name)
        gone = {f"{_COMPUTE}/virtualMachines/{name}"}
        for kind in ("networkInterfaces", "disks", "publicIPAddresses"):  # addresses go after their interfaces
            for part_name, part in list(self.parts[kind].items()):
                if part.used_by is not None and any(part.used_by.startswith(one) for one in gone):
                    if part.goes_with_vm:
                        del self.parts[kind][part_name]
                        gone.add(part.body["id"])
                    else:
                        part.used_by = None

    # --- parts, operations, prices -----------------------------------------------------------------------------

    def _list_parts(self, request: WireRequest, kind: str) -> WireReply:
        refused = self._refused(request, f"{kind}/read")
        if refused is not None:
            return refused
        self._pass_time()
        kind = next(name for name in self.parts if name.lower() == kind.lower())
        return self._page(request, [_part_shown(kind, part) for part in self.parts[kind].values()])

    def _delete_part(self, request: WireRequest, kind: str, name: str) -> WireReply:
        refused = self._refused(request, f"{kind}/delete")
        if refused is not None:
            return refused
        self._pass_time()
        kind = next(one for one in self.parts if one.lower() == kind.lower())
        part = self.parts[kind].get(name)
        if part is None:
            return WireReply(204)
        if part.used_by is not None:
            return error(400, "NicInUse", f"{kind} {name} is used by existing resource {part.used_by}.")
        del self.parts[kind][name]
        for others in self.parts.values():
            for other in others.values():
                if other.used_by is not None and other.used_by.startswith(part.body["id"]):
                    other.used_by = None
        return WireReply(202, None, self._operation())

    def _list_skus(self, request: WireRequest) -> WireReply:
        refused = self._refused(request, "Microsoft.Compute/skus/read")
        if refused is not None:
            return refused
        return self._page(request, [one for one in self.skus if f"'{one['locations'][0]}'" in request.query["$filter"]])

    def _page(self, request: WireRequest, shown: list[dict[str, Any]]) -> WireReply:
        start = int(request.query.get("$skiptoken", "0"))
        body: dict[str, Any] = {"value": shown[start : start + PAGE]}
        if start + PAGE < len(shown):
            version = request.query["api-version"]
            kept = f"&$filter={quote(request.query['$filter'])}" if "$filter" in request.query else ""
            body["nextLink"] = f"{self.url}{request.path}?api-version={version}&$skiptoken={start + PAGE}{kept}"
        return WireReply(200, body)

    def _operation(self) -> dict[str, str]:
        place = (
            f"{self.url}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/eastus/operations/{uuid4()}"
        )
        return {"Azure-AsyncOperation": f"{place}?api-version=2024-07-01", "Location": place, "Retry-After": "1"}

    def _give_prices(self, request: WireRequest) -> WireReply:
        """Filters as far as the backend asks: names of sizes and one region."""
        wanted = request.query.get("$filter", "")
        found = [
            one for one in self.prices if f"'{one['armSkuName']}'" in wanted and f"'{one['armRegionName']}'" in wanted
        ]
        start = int(request.query.get("$skip", "0"))
        after = f"{self.url}{request.path}?$filter={quote(wanted)}&$skip={start + PAGE}"
        more = after if start + PAGE < len(found) else None
        page = found[start : start + PAGE]
        return WireReply(200, {"BillingCurrency": "USD", "Items": page, "NextPageLink": more, "Count": len(page)})


def error(status: int, code: str, message: str) -> WireReply:
    """As Azure Resource Manager writes errors."""
    return WireReply(status, {"error": {"code": code, "message": message}})


def _problem(body: dict[str, Any]) -> WireReply | None:
    """What Azure would not accept at all."""
    try:
        properties = body["properties"]
        wanted = properties["networkProfile"]["networkInterfaceConfigurations"][0]["properties"]["ipConfigurations"][0]
        key = properties["osProfile"]["linuxConfiguration"]["ssh"]["publicKeys"][0]["keyData"]
        complete = (
            wanted["properties"]["subnet"]["id"] and body["location"] and properties["osProfile"]["adminUsername"]
        )
    except (KeyError, IndexError):
        return error(400, "InvalidParameter", "A required parameter is missing.")
    if not complete or not key.startswith("ssh-") or "networkApiVersion" not in properties["networkProfile"]:
        return error(400, "InvalidParameter", "The value of parameter linuxConfiguration.ssh.publicKeys is invalid.")
    if properties.get("evictionPolicy") and properties.get("priority") != "Spot":
        return error(400, "InvalidParameter", "Eviction policy can be set only on Azure Spot Virtual Machines.")
    image = properties["storageProfile"]["imageReference"]
    if image.get("publisher") == "nobody":
        return error(
            404, "PlatformImageNotFound", "The platform image is not available. Verify that all fields are correct."
        )
    return None


def _part_shown(kind: str, part: Part) -> dict[str, Any]:
    body = part.body | {"properties": dict(part.body.get("properties", {}))}
    if kind == "disks":
        return body | ({"managedBy": part.used_by} if part.used_by else {})
    if part.used_by is not None:
        name = "virtualMachine" if kind == "networkInterfaces" else "ipConfiguration"
        body["properties"][name] = {"id": part.used_by}
    return body
