"""What the backend's account has to be allowed, and what to say when it is not.

`deploy/kubernetes/backend-rbac.yaml` grants it. What else that file grants (logs, events, claims, metrics) is used if
it is there: a call that lacks it says so.
"""

import contextlib
from collections.abc import Iterator

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import Forbidden, Unauthorized
from dovetail.kubernetes_client.rights import AccessRight, lacking, missing_rights, rights

MANIFEST = "deploy/kubernetes/backend-rbac.yaml"
LACKS = "our credentials lack"


def needed_rights(namespace: str) -> list[AccessRight]:
    """`namespace`: where its pods are."""
    own = rights(["get", "list", "watch", "create", "patch", "delete"], ["pods"], namespace=namespace)
    return [*own, *rights(["list", "watch"], ["nodes", "pods"])]


class AccessReview:
    """`backend`: its name. `kubeconfig`: where its credentials are, if the settings say so. `in_doubt`: a right may
    have been taken away since the last look."""

    def __init__(self, backend: str, kubeconfig: object) -> None:
        self._backend, self._kubeconfig = backend, kubeconfig
        self.in_doubt = False

    async def check(self, api: Api, namespace: str) -> None:
        """Raises Forbidden with all that is missing."""
        missing = await missing_rights(api, needed_rights(namespace))
        if missing:
            raise Forbidden(403, "Forbidden", lacking(missing, MANIFEST))
        self.in_doubt = False

    def watched(self, healthy: bool, _why: str) -> None:
        """A watch that is refused is retried for ever: the next look finds out whether a right is missing."""
        self.in_doubt |= not healthy

    @contextlib.contextmanager
    def naming_the_remedy(self) -> Iterator[None]:
        """Around calls: one that our credentials do not allow says what to do, and the next look is closer."""
        try:
            yield
        except Unauthorized as error:
            source = self._kubeconfig or "the kubeconfig, or the service account of this pod"
            words = "the API server does not accept our credentials (401): they are wrong, revoked or expired. Renew "
            words += f"those in {source}: a new token there is used at once. After any other change: "
            words += f"dovetail backend add {self._backend} --replace with its settings; "
            words += "where the settings of the server name it, start that again"
            raise Unauthorized(error.status, error.reason, words) from None
        except Forbidden as error:
            self.in_doubt = True
            if str(error).startswith(LACKS):
                raise
            words = f"{LACKS} a right (403): {error}. Grant it: kubectl apply -f {MANIFEST}"
            raise Forbidden(error.status, error.reason, words) from None
