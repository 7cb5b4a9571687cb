"""Which volume each claim of a pod gets once its node is known, for claims that wait for that.

The choice follows the filter (`placement/filters/pod_volumes.py`): claim by claim, each gets the first volume left that
the node can use, or else one is provisioned there.
Left to others: writing it to the API, and waiting for the volume controller.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dovetail.kubernetes.objects.selectors import selects
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.asks import Term
from dovetail.model.requests.pod_ask import VolumeClaim

Labels = Mapping[str, str]


class ClaimBinding(NamedTuple):
    """`volume`: the volume it gets, as of `volume_version`; empty: one is provisioned. `asked`: the wish is already
    written, and only has to be carried out."""

    namespace: str
    claim: str
    uid: str
    volume: str = ""
    volume_version: str = ""
    asked: bool = False


def bindings_of(
    claims: list[tuple[Json, VolumeClaim]], volumes: Mapping[str, Json], labels: Labels
) -> list[ClaimBinding] | None:
    """On a node with these labels, which include its name; None: a claim gets no volume there."""
    taken: set[str] = set()
    found = []
    for stored, claim in claims:
        about = stored["metadata"]
        whose = about["namespace"], about["name"], about.get("uid") or ""
        usable = [one.name for one in claim.volumes if one.name not in taken and _holds(one.nodes, labels)]
        if usable:
            taken.add(usable[0])
            volume = volumes[usable[0]]
            asked = bool((volume["spec"].get("claimRef") or {}).get("uid"))
            version = volume["metadata"].get("resourceVersion") or ""
            found.append(ClaimBinding(*whose, usable[0], version, asked))
        elif claim.made_at is not None and _holds(claim.made_at or None, labels) and _holds(claim.roomy, labels):
            found.append(ClaimBinding(*whose, asked=bool(claim.selected_node)))
        else:
            return None
    return found


def _holds(terms: tuple[Term, ...] | None, labels: Labels) -> bool:
    return terms is None or any(selects(term, labels) for term in terms)
