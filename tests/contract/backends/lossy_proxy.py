"""The misbehaving network under the name that tests here know it by; it ships with the conformance suite."""

from dovetail.testing.lossy_proxy import LossyProxy

__all__ = ["LossyProxy"]
