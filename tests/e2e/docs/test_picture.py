"""The picture of the README shows what `dovetail explain` prints now."""

import json
from pathlib import Path

import pytest
from tests.unit.api.server import serving
from tools import picture

from dovetail.control.settings import load_settings

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("pages")]


def test_the_picture_of_the_readme_is_drawn_from_what_the_command_prints(tmp_path: Path) -> None:
    changes = {"DOVETAIL_DATA": json.dumps(str(tmp_path / "data")), "DOVETAIL_LOGGING__LEVEL": "error"}
    with serving(load_settings(picture.CLUSTER, changes)) as url:
        assert picture.picture(url) == picture.PICTURE.read_text(), "run: make docs"
