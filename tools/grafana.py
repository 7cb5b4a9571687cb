"""Write the Grafana dashboard, `deploy/grafana/dovetail.json`:  python tools/grafana.py [--check]

What it shows stands in `tools/grafana_panels.py`. `--check` writes nothing and fails if the file is stale.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # as a program it is called by its path
from tools.grafana_panels import ROWS, Panel  # noqa: E402

FILE = ROOT / "deploy" / "grafana" / "dovetail.json"
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SELECTOR = 'job="$job", instance=~"$instance"'
COLUMNS = 24  # of Grafana's grid

Json = dict[str, Any]


def dashboard() -> Json:
    panels: list[Json] = []
    top = 0
    for title, row in ROWS.items():
        panels.append(
            {"type": "row", "title": title, "gridPos": _at(0, top, COLUMNS, 1), "collapsed": False, "panels": []}
        )
        top += 1
        left = 0
        for one in row:
            if left + one.width > COLUMNS:
                left, top = 0, top + row[0].height
            panels.append(_panel(one, left, top))
            left += one.width
        top += row[-1].height
    for number, panel in enumerate(panels, 1):
        panel["id"] = number
    return {
        "title": "Dovetail",
        "uid": "dovetail",
        "tags": ["dovetail", "scheduler"],
        "description": "A Dovetail server: capacity, waiting work, decisions, backends, cost.",
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": _variables()},
        "panels": panels,
    }


def _variables() -> list[Json]:
    def chosen(name: str, query: str, several: bool) -> Json:
        return {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": name},
            "definition": query,
            "refresh": 2,
            "sort": 1,
            "multi": several,
            "includeAll": several,
            "allValue": ".*" if several else None,
            "current": {"text": "All", "value": "$__all"} if several else {},
        }

    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}},
        chosen("job", "label_values(dovetail_build_info, job)", several=False),
        chosen("instance", 'label_values(dovetail_build_info{job="$job"}, instance)', several=True),
    ]


def _panel(panel: Panel, left: int, top: int) -> Json:
    colours = [{"color": "green", "value": None}, *({"color": colour, "value": at} for at, colour in panel.steps)]
    custom: Json = {}
    if panel.kind == "timeseries":
        custom = {"fillOpacity": 20 if panel.stacked else 0, "showPoints": "never", "lineWidth": 1}
        custom["stacking"] = {"mode": "normal" if panel.stacked else "none", "group": "A"}
    limits = {"min": 0} if panel.kind != "heatmap" else {}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.words,
        "datasource": DATASOURCE,
        "gridPos": _at(left, top, panel.width, panel.height),
        "targets": [_target(number, *line, panel.kind) for number, line in enumerate(panel.lines)],
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                **limits,
                **({} if panel.most is None else {"max": panel.most}),
                "thresholds": {"mode": "absolute", "steps": colours},
                "custom": custom,
            },
            "overrides": [],
        },
        "options": OPTIONS[panel.kind],
    }


LEGEND = {"displayMode": "list", "placement": "bottom", "showLegend": True}
NEWEST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
OPTIONS: dict[str, Json] = {
    "timeseries": {"legend": LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {"reduceOptions": NEWEST, "colorMode": "value", "graphMode": "area", "justifyMode": "auto"},
    "bargauge": {"reduceOptions": NEWEST, "orientation": "horizontal", "displayMode": "basic"},
    "state-timeline": {"legend": LEGEND, "showValue": "never", "mergeValues": True},
    "heatmap": {
        "calculate": False,
        "yAxis": {"unit": "s"},
        "rowsFrame": {"layout": "auto"},
        "color": {"mode": "scheme", "scheme": "Viridis", "steps": 64, "exponent": 0.5, "fill": "dark-orange"},
        "cellGap": 1,
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False},
    },
}


def _target(number: int, expression: str, legend: str, kind: str) -> Json:
    now = kind in ("stat", "bargauge")
    return {
        "refId": chr(ord("A") + number),
        "datasource": DATASOURCE,
        "expr": with_selector(expression),
        "legendFormat": legend or "__auto",
        "instant": kind == "bargauge",
        "range": not now or kind == "stat",
        "format": "heatmap" if kind == "heatmap" else "time_series",
    }


def with_selector(expression: str) -> str:
    return expression.replace("{S", "{" + SELECTOR)


def _at(x: int, y: int, w: int, h: int) -> Json:
    return {"x": x, "y": y, "w": w, "h": h}


def text() -> str:
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    stale = not FILE.exists() or FILE.read_text() != text()
    if "--check" in sys.argv:
        print("stale: run make docs" if stale else "the dashboard is up to date")
        return int(stale)
    if stale:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
