"""A slash inside one segment of an address: `/workloads/team%2Ftrain/logs` is about the workload `team/train`.

Servers decode addresses before routes are matched, which makes two segments of it. Here it stays encoded, so that the
route matches, and whoever reads the segment decodes it (`control.services.workload_names`).
"""

from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

DECODED_PATH = "dovetail.decoded_path"  # in the scope of a request, where it differs from the path that is matched


class EncodedSlashes:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path") or b""
        if b"%2F" in raw or b"%2f" in raw:
            kept = raw.replace(b"%2F", b"%252F").replace(b"%2f", b"%252F")
            inner = {**scope, "path": unquote(kept.decode("ascii", "replace")), DECODED_PATH: scope["path"]}

            async def send_with_route(message: Message) -> None:
                scope["route"] = inner.get("route")  # for those who count requests by their route
                await send(message)

            await self._app(inner, receive, send_with_route)
        else:
            await self._app(scope, receive, send)
