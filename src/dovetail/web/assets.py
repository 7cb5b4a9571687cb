"""The files of the dashboard, read once and kept in memory.

Their addresses begin with a digest of all of them, so that browsers keep them for ever, and a new version of the server
is seen at once. Modules import each other by relative paths, which stay below the same digest. The HTML file of a page
names all modules that the page will import, so that a browser gets them at once and not one after the other.
"""

import gzip
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from dovetail.web.page_table import PAGES

FOLDER = Path(__file__).parent / "static"
PREFIX = "/web/"
SHELL = "index.html"
START = "app.js"
_IMPORT = re.compile(rb'^(?:import|export)\b[^;"(]*"(\.[^"]+)"', re.MULTILINE)
_BEFORE_START = b'  <script type="module"'
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
    """`by_path`: without the digest. `shells`: by the module of a page, the HTML file with which it begins."""

    digest: str
    by_path: dict[str, Asset]
    shells: dict[str, Asset]

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
    shells = {page.module: _asset(SHELL, _with_modules(shell, files, page.module, digest)) for page in PAGES}
    return Assets(digest, by_path, shells)


def _with_modules(shell: bytes, files: Mapping[str, bytes], module: str, digest: str) -> bytes:
    needed = modules_of(files, START, f"pages/{module}")
    links = "".join(f'  <link rel="modulepreload" href="{PREFIX}{digest}/{name}">\n' for name in needed)
    return shell.replace(_BEFORE_START, links.encode() + _BEFORE_START)


def modules_of(files: Mapping[str, bytes], *first: str) -> list[str]:
    """These modules and everything that they import, as far as it is there."""
    found: dict[str, None] = {}
    waiting = [name for name in first if name in files]
    while waiting:
        name = waiting.pop()
        if name in found or name not in files:
            continue
        found[name] = None
        folder = posixpath.dirname(name)
        waiting += [posixpath.normpath(posixpath.join(folder, path.decode())) for path in _IMPORT.findall(files[name])]
    return list(found)


def _asset(name: str, content: bytes) -> Asset:
    compressed = gzip.compress(content, mtime=0) if len(content) > _SMALL else None
    return Asset(content, compressed, _MEDIA_TYPES[Path(name).suffix])
