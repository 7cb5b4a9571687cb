"""The owner id of this installation, which marks its pods: random, and kept in the backend's folder."""

import contextlib
import secrets
from pathlib import Path

OWNER_FILE = "owner"


def remembered_owner(folder: Path) -> str:
    """Drawn once for this folder."""
    path = folder / OWNER_FILE
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = folder / f"{OWNER_FILE}.{secrets.token_hex(4)}"
        draft.write_text(secrets.token_hex(4))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)  # there whole or not at all, and only once
        draft.unlink()
    return path.read_text().strip()
