"""Names of container images in one spelling, so that what a task wants and what a node has can be compared.

`busybox`, `busybox:latest` and `docker.io/library/busybox:latest` are one image. A node that has an image says so with
a label (`image_label`), whichever backend it belongs to; asking for it is left to whoever scores nodes.
"""

from dovetail.model.workloads.selection import MAX_LABEL

IMAGE_LABEL = "image/"
PRESENT = "present"
DEFAULT_REGISTRY, DEFAULT_TAG = "docker.io", "latest"
_OTHER_NAMES = ("index.docker.io", "registry-1.docker.io")


def registry_of(image: str) -> str:
    """Where an image comes from: the part before the first slash if that is a host, as Docker reads it."""
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return DEFAULT_REGISTRY
    return DEFAULT_REGISTRY if first in _OTHER_NAMES else first


def canonical(image: str) -> str:
    """With a tag or a digest, and without the registry that is meant when none is named."""
    first, _, rest = image.partition("/")
    if first in (DEFAULT_REGISTRY, *_OTHER_NAMES) and rest:
        image = rest
    if "/" in image and image.startswith("library/"):
        image = image.removeprefix("library/")
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:{DEFAULT_TAG}"


def image_label(image: str) -> str | None:
    """The key of the label that a node with this image has; None for a name that is too long or odd for a label."""
    key = IMAGE_LABEL + canonical(image)
    odd = len(key) > MAX_LABEL or not key.isprintable() or any(letter.isspace() for letter in key)
    return None if odd else key
