"""The metadata services of AWS, Azure and Google at the wire, as their documentation describes them."""

import secrets
from typing import Any

from tests.servers.wire import WireReply, WireRequest, WireServer

VM = "spot-7"
AT = "2026-11-18T12:02:00Z"
#: What an agent tells of each.
NOTICES = {
    "ec2": f"spot interruption: AWS will terminate the instance at {AT}",
    "azure": f"Azure takes the machine back at {AT} (Preempt)",
    "gcp": "Google takes the machine back in 30 seconds (preempted)",
}


class MetadataServer(WireServer):
    """`taken_back`: there is a notice from now on. `tokens`: those of AWS that are good."""

    def __init__(self) -> None:
        super().__init__()
        self.taken_back = False
        self.tokens: set[str] = set()
        self.others = [{"EventType": "Preempt", "Resources": ["spot-8"], "NotBefore": ""}]
        self.route("PUT", "/latest/api/token", self._token)
        self.route("GET", "/latest/meta-data/spot/instance-action", self._instance_action)
        self.route("GET", "/metadata/instance/compute/name", self._azure_name)
        self.route("GET", "/metadata/scheduledevents", self._scheduled_events)
        self.route("GET", "/computeMetadata/v1/instance/preempted", self._preempted)

    def _token(self, request: WireRequest) -> WireReply:
        if not request.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
            return WireReply(400)
        token = secrets.token_urlsafe()
        self.tokens.add(token)
        return WireReply(200, token.encode())

    def _instance_action(self, request: WireRequest) -> WireReply:
        if request.headers.get("x-aws-ec2-metadata-token") not in self.tokens:
            return WireReply(401)
        return WireReply(200, {"action": "terminate", "time": AT}) if self.taken_back else WireReply(404)

    def _azure_name(self, request: WireRequest) -> WireReply:
        return self._for_azure(request, VM.encode() if request.query.get("format") == "text" else {"name": VM})

    def _scheduled_events(self, request: WireRequest) -> WireReply:
        freeze = {"EventType": "Freeze", "Resources": [VM], "NotBefore": AT}
        own = [{"EventType": "Preempt", "Resources": [VM], "NotBefore": AT}] if self.taken_back else []
        return self._for_azure(request, {"DocumentIncarnation": 1, "Events": [*self.others, freeze, *own]})

    def _for_azure(self, request: WireRequest, body: Any) -> WireReply:
        asked_well = request.headers.get("metadata") == "true" and "api-version" in request.query
        return WireReply(200, body) if asked_well else WireReply(400, {"error": "Bad request"})

    def _preempted(self, request: WireRequest) -> WireReply:
        if request.headers.get("metadata-flavor") != "Google":
            return WireReply(403)
        return WireReply(200, b"TRUE" if self.taken_back else b"FALSE")
