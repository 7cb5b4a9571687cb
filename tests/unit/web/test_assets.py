"""A page names the modules that it will import, so that a browser gets them at once."""

import re

from dovetail.web.assets import FOLDER, load_assets, modules_of
from dovetail.web.page_table import PAGES


def test_a_page_names_every_module_that_its_own_imports() -> None:
    files = {
        "app.js": b'import { begin } from "./core/frame.js";\n',
        "core/frame.js": b'/** "./no.js" */\nimport { a,\n  b } from "../parts/a.js";\nimport("../pages/other.js");\n',
        "parts/a.js": b'import "./b.js";\nexport { c } from "../core/frame.js";\nexport const address = "./no.js";\n',
        "parts/b.js": b"",
        "pages/other.js": b"",
    }
    assert sorted(modules_of(files, "app.js")) == ["app.js", "core/frame.js", "parts/a.js", "parts/b.js"]


def test_what_a_page_names_is_there() -> None:
    assets = load_assets()
    for page in PAGES:
        text = assets.shells[page.module].content.decode()
        named = re.findall(rf'modulepreload" href="/web/{assets.digest}/([^"]+)"', text)
        assert "core/frame.js" in named
        assert set(named) <= set(assets.by_path)
        assert (f"pages/{page.module}" in named) is (FOLDER / "pages" / page.module).exists()
