/** The cluster at a glance. */
import { html } from "../core/view.js";
import { get } from "../core/api.js";
import { definePage } from "../core/page.js";
import { count, percent, plural } from "../core/format.js";
import { meter } from "../charts/bars.js";

export default definePage({
  title: () => "Overview",
  everyS: 5,
  follows: () => true,
  load: ({ signal }) => get("/summary", {}, signal),
  view: (/** @type {import("../types").Schemas["ClusterSummary"]} */ data) => html`<h1>Overview</h1>
    <p class="lead">${plural(data.nodes.total, "node")}, ${count(data.waiting)} waiting.</p>
    <div class="grid g5">${Object.entries(data.resources).map(([name, use]) => html`<div class="panel stat"><div class="k">${name}</div><div class="v">${percent(use.share)}</div>${meter(use.share, name)}</div>`)}</div>`,
});
