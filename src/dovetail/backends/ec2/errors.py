"""What an error of RunInstances means: nothing was launched and why, or nobody knows. Pure.

Guarantees: an error is a refusal only if EC2 says for sure that nothing was launched. All others are repeated.
"""

from collections.abc import Callable, Iterable

from dovetail.backends.cloud_catalogue.offered_types import CAPACITY_TYPE, REGION, SPOT, ZONE
from dovetail.backends.machines.provider import LaunchRefused, MachineType, RefusalKind

Concerns = Callable[[MachineType, MachineType], bool]


def _this_one(asked: MachineType, other: MachineType) -> bool:
    return asked.name == other.name


def _same_label(label: str) -> Concerns:
    return lambda asked, other: asked.node.labels.get(label) == other.node.labels.get(label)


def _same_quota(asked: MachineType, other: MachineType) -> bool:
    return asked.quota == other.quota


def _spot_of_region(asked: MachineType, other: MachineType) -> bool:
    return _same_label(REGION)(asked, other) and other.node.labels.get(CAPACITY_TYPE) == SPOT


_region, _zone = _same_label(REGION), _same_label(ZONE)
_STOCK, _QUOTA = RefusalKind.STOCK_OUT, RefusalKind.QUOTA
_PERMISSION, _INVALID = RefusalKind.PERMISSION, RefusalKind.INVALID

#: By error code: the kind of refusal, and which other types would be refused too.
REFUSALS: dict[str, tuple[RefusalKind, Concerns]] = {
    "InsufficientInstanceCapacity": (_STOCK, _this_one),
    "InsufficientCapacity": (_STOCK, _this_one),
    "InsufficientHostCapacity": (_STOCK, _this_one),
    "InsufficientReservedInstanceCapacity": (_STOCK, _this_one),
    "SpotMaxPriceTooLow": (_STOCK, _this_one),
    "InsufficientFreeAddressesInSubnet": (_STOCK, _zone),
    "VcpuLimitExceeded": (_QUOTA, _same_quota),
    "InstanceLimitExceeded": (_QUOTA, _same_quota),
    "MaxSpotInstanceCountExceeded": (_QUOTA, _same_quota),
    "SpotInstanceCountLimitExceeded": (_QUOTA, _same_quota),
    "MaxSpotFleetRequestCountExceeded": (_QUOTA, _spot_of_region),
    "VolumeLimitExceeded": (_QUOTA, _region),
    "MaxIOPSLimitExceeded": (_QUOTA, _region),
    "UnauthorizedOperation": (_PERMISSION, _region),
    "AuthFailure": (_PERMISSION, _region),
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": (_PERMISSION, _spot_of_region),
    "AccessDenied": (_PERMISSION, _region),
    "AccessDeniedException": (_PERMISSION, _region),
    "Blocked": (_PERMISSION, _region),
    "OptInRequired": (_PERMISSION, _region),
    "PendingVerification": (_PERMISSION, _region),
    "InvalidClientTokenId": (_PERMISSION, _region),
    "InvalidAMIID.Malformed": (_INVALID, _region),
    "InvalidAMIID.NotFound": (_INVALID, _region),
    "InvalidAMIID.Unavailable": (_INVALID, _region),
    "InvalidKeyPair.NotFound": (_INVALID, _region),
    "InvalidGroup.NotFound": (_INVALID, _region),
    "InvalidSecurityGroupID.NotFound": (_INVALID, _region),
    "InvalidSubnetID.NotFound": (_INVALID, _zone),
    "InvalidSubnet": (_INVALID, _zone),
    "MissingInput": (_INVALID, _zone),
    "VPCIdNotSpecified": (_INVALID, _region),
    "InvalidInstanceType": (_INVALID, _this_one),
    "Unsupported": (_INVALID, _this_one),
    "UnsupportedOperation": (_INVALID, _this_one),
    "ParameterNotFound": (_INVALID, _region),
}
#: Other errors about what was sent: that one launch cannot work.
_MALFORMED = (
    "InvalidParameter",
    "MissingParameter",
    "UnknownParameter",
    "InvalidBlockDeviceMapping",
    "InvalidUserData",
)


def refusal_of(code: str, words: str, asked: MachineType, offered: Iterable[MachineType]) -> LaunchRefused | None:
    """None: it is not known whether an instance was launched, or another try may do."""
    known = REFUSALS.get(code)
    if known is None and code.startswith(_MALFORMED):
        known = _INVALID, _this_one
    if known is None:
        return None
    kind, concerns = known
    types = [one.name for one in offered if concerns(asked, one)]
    return LaunchRefused(kind, f"{code}: {words}", types)
