"""Write the types of the dashboard from the OpenAPI description: `src/dovetail/web/static/types.d.ts`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from dovetail.api.app import create_app
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings

HERE = Path(__file__).parent
TARGET = HERE.parent.parent / "src/dovetail/web/static/types.d.ts"
GENERATOR = HERE / "node_modules/.bin/openapi-typescript"
_HEADER = "// Written by `make web-types` from the OpenAPI description. Do not edit.\n"


def schemas() -> dict[str, object]:
    """The description without its routes: pages name what is answered, not where."""
    with tempfile.TemporaryDirectory() as folder:
        description = create_app(ControlPlane(Settings.model_validate({"data": folder}))).openapi()
    return {**description, "paths": {}}


def written() -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "openapi.json"), Path(folder, "types.d.ts")
        source.write_text(json.dumps(schemas()))
        subprocess.run([GENERATOR, source, "-o", made], check=True, capture_output=True)
        text = made.read_text()
    begin, end = text.index("export interface components"), text.index("export type $defs")
    return f'{_HEADER}{text[begin:end]}export type Schemas = components["schemas"];\n'


if __name__ == "__main__":
    if not GENERATOR.exists():
        sys.exit("openapi-typescript is missing; make test-deps installs it")
    TARGET.write_text(written())
