"""JSON from the API server, decoded without paying for it twice.

A large list makes hundreds of thousands of dicts at once, none of them garbage. Python's collector would walk through
them again and again while they are made, which takes three times as long as the decoding; so it waits that long.
"""

import gc
from typing import Any

import orjson

LARGE_BYTES = 50_000


def decode(content: bytes) -> Any:
    if len(content) < LARGE_BYTES or not gc.isenabled():
        return orjson.loads(content)
    gc.disable()
    try:
        return orjson.loads(content)
    finally:
        gc.enable()
