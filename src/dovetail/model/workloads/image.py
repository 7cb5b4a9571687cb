"""Normalises names of container images, so that requests and nodes can be compared.

`busybox`, `busybox:latest` and `docker.io/library/busybox:latest` are one image. A node that has an image carries a
label for it (`image_label`), whatever its backend. The image locality score reads these labels.
"""

from dovetail.model.text.strict import is_word
from dovetail.model.workloads.selection import MAX_LABEL

IMAGE_LABEL = "image/"
PRESENT = "present"
DEFAULT_REGISTRY, DEFAULT_TAG = "docker.io", "latest"
_OTHER_NAMES = ("index.docker.io", "registry-1.docker.io")


def registry_of(image: str) -> str:
    """The registry of an image: the part before the first slash if that is a host, as Docker reads it."""
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return DEFAULT_REGISTRY
    return DEFAULT_REGISTRY if first in _OTHER_NAMES else first


def canonical(image: str) -> str:
    """The name with a tag or digest, and without the default registry."""
    first, _, rest = image.partition("/")
    if first in (DEFAULT_REGISTRY, *_OTHER_NAMES) and rest:
        image = rest
    image = image.removeprefix("library/")
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:{DEFAULT_TAG}"


def image_label(image: str) -> str | None:
    """The label key of nodes with this image; None if the name does not fit into a label."""
    key = IMAGE_LABEL + canonical(image)
    return key if is_word(key, MAX_LABEL) else None
