"""Keys of probes: the control plane derives them from one secret, and agents get only those that they need.

An agent gets the key of its own node, from which it derives the key of everybody who may probe it, and for each peer
that it probes the one key of that pair. So an agent can neither speak for another nor probe whom it was not told to.
Keys change with the epoch, an hour: what somebody recorded is soon good for nothing.
"""

import hashlib
import hmac

EPOCH_S = 3600
ID_BYTES = 8


def epoch_at(now: float) -> int:
    return int(now // EPOCH_S)


def probe_id(node: str) -> bytes:
    """How a node is named in packets."""
    return hashlib.blake2b(node.encode(), digest_size=ID_BYTES).digest()


def node_key(secret: bytes, epoch: int, node: str) -> bytes:
    """With which a node checks whoever probes it."""
    return hmac.digest(secret, b"node %d " % epoch + node.encode(), "sha256")


def pair_key(key_of_node: bytes, prober: bytes) -> bytes:
    """With which `prober` (its id) probes the node of this key."""
    return hmac.digest(key_of_node, b"pair " + prober, "sha256")
