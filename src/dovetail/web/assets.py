"""The files of the dashboard, read once and kept in memory.

Their addresses begin with a digest of all of them, so that browsers keep them for ever, and a new version of the server
is seen at once. Modules import each other by relative paths, which stay below the same digest.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
PREFIX = "/web/"
SHELL = "index.html"
_MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".html": "text/html; charset=utf-8",
}
_SMALL = 500  # bytes, which compressing would not make fewer packets


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    compressed: bytes | None
    media_type: str


@dataclass(frozen=True, slots=True)
class Assets:
    """`by_path`: without the digest. `shell`: the HTML file that every page begins with."""

    digest: str
    by_path: dict[str, Asset]
    shell: Asset

    def at(self, path: str) -> Asset | None:
        """`path`: below `PREFIX`. None too for those of another version of the server."""
        digest, _, name = path.partition("/")
        return self.by_path.get(name) if digest == self.digest else None


@cache
def load_assets() -> Assets:
    files = {
        str(file.relative_to(FOLDER)): file.read_bytes()
        for file in sorted(FOLDER.rglob("*"))
        if file.suffix in _MEDIA_TYPES
    }
    whole = sha256()
    for name, content in files.items():
        whole.update(f"{name} {len(content)} ".encode() + content)
    digest = whole.hexdigest()[:12]
    shell = files.pop(SHELL).replace(b"{DIGEST}", digest.encode())
    by_path = {name: _asset(name, content) for name, content in files.items()}
    return Assets(digest, by_path, _asset(SHELL, shell))


def _asset(name: str, content: bytes) -> Asset:
    compressed = gzip.compress(content, mtime=0) if len(content) > _SMALL else None
    return Asset(content, compressed, _MEDIA_TYPES[Path(name).suffix])
