/** Profiles: which filters and scores decide, who uses them, and what another one would have chosen. */
import { html, nothing } from "../core/view.js";
import { get, send } from "../core/api.js";
import { definePage } from "../core/page.js";
import { setQuery } from "../core/route.js";
import { count, number, percent, plural } from "../core/format.js";
import { wordsOf } from "../core/notices.js";
import { nodeLink, workloadLink } from "../parts/badge.js";
import { commandToCopy, skeleton } from "../parts/states.js";
import { exportButtons, table } from "../parts/table.js";
import { meter } from "../charts/bars.js";

/** @typedef {import("../types").Schemas["Profiles"]} Profiles */
/** @typedef {import("../types").Schemas["ProfileRow"]} ProfileRow */
/** @typedef {import("../types").Schemas["SchedulerRow"]} SchedulerRow */
/** @typedef {import("../types").Schemas["ProfilePreview"]} ProfilePreview */
/** @typedef {import("../types").Schemas["OtherChoice"]} OtherChoice */

const LAST = 100;

/** What is left to decide where nothing is scored. @type {Record<string, string>} */
const SELECTS = { random: "chance takes one of the nodes that fit", round_robin: "the nodes that fit take turns", first: "the first node that fits is taken" };

/** The preview runs on a copy of the state and takes a while, so it is asked once and not with each reload. */
let asked = "";
/** @type {ProfilePreview | null} */
let found = null;
let trouble = "";

/** @param {string} profile @param {() => void} redraw */
async function preview(profile, redraw) {
  asked = profile;
  found = null;
  trouble = "";
  redraw();
  try {
    const answer = await send("POST", "/profiles/preview", { profile, last: LAST });
    if (asked === profile) found = answer;
  } catch (error) {
    if (asked === profile) trouble = wordsOf(error);
  }
  redraw();
}

/** Weights as bars beside each other; negative ones are what repels. @param {ProfileRow} profile */
function weights(profile) {
  const scores = Object.entries(profile.scores).sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const most = Math.max(...scores.map(([, weight]) => Math.abs(weight)), 1e-9);
  if (!scores.length) return html`<p class="soft">No scores: ${SELECTS[profile.select] ?? `it selects by ${profile.select}`}.</p>`;
  return html`<div class="weights">${scores.map(([name, weight]) => html`<span>${name}</span>${meter(Math.abs(weight) / most, `weight of ${name}`)}<span class=${weight < 0 ? "num bad" : "num"}>${number(weight)}</span>`)}</div>`;
}

/** @param {ProfileRow} profile @param {SchedulerRow[]} schedulers @param {string} shown @param {() => void} redraw */
function card(profile, schedulers, shown, redraw) {
  const users = schedulers.filter((one) => one.profile === profile.name).map((one) => one.name);
  const show = () => {
    setQuery({ preview: profile.name });
    void preview(profile.name, redraw);
  };
  return html`<div class="panel" id=${`profile-${profile.name}`}>
    <div class="head"><h2>${profile.name} ${profile.default ? html`<span class="tag">default</span>` : nothing} ${profile.built_in ? nothing : html`<span class="tag">own</span>`}</h2>
      <div class="actions">${profile.default ? nothing : html`<button class="btn" aria-label=${`Preview ${profile.name}`} aria-pressed=${String(shown === profile.name)} @click=${show}>Preview</button>`}</div></div>
    <p class="soft">Order: ${profile.order}. Selects: ${profile.select}.${users.length ? ` Used by ${users.length === 1 ? "scheduler" : "schedulers"} ${users.join(", ")}.` : ""}</p>
    ${weights(profile)}
    <details><summary class="soft">${plural(profile.filters.length, "filter")}</summary><p>${profile.filters.map((name) => html`<span class="tag">${name}</span> `)}</p></details>
  </div>`;
}

/** @type {import("../parts/table.js").Column<OtherChoice>[]} */
const CHOICES = [
  { name: "workload", title: "Task of", cell: (row) => workloadLink(row), value: (row) => `${row.namespace}/${row.name}` },
  { name: "node", title: "It is on", cell: (row) => nodeLink(row.node), value: (row) => row.node },
  { name: "would_be", title: "It would be on", cell: (row) => (row.would_be === null ? html`<span class="bad">no node</span>` : nodeLink(row.would_be)), value: (row) => row.would_be },
];

/** @param {string} profile @param {() => void} redraw */
function previewPanel(profile, redraw) {
  if (asked !== profile) void Promise.resolve().then(() => preview(profile, redraw));
  const close = () => setQuery({ preview: null });
  const body = trouble ? html`<p class="bad" role="alert">${trouble}</p>` : found === null ? skeleton(4) : previewed(found);
  return html`<section class="panel" aria-label=${`Preview of ${profile}`}><div class="head"><h2>With ${profile} as the default <small>the last ${LAST} decisions, decided again on a copy</small></h2><button class="btn quiet" @click=${close} aria-label="Close">×</button></div>${body}</section>`;
}

/** @param {ProfilePreview} answer */
function previewed(answer) {
  const rows = [
    { name: "Nodes in use", before: count(answer.before.nodes_in_use), after: count(answer.after.nodes_in_use) },
    { name: "Empty nodes", before: count(answer.before.empty_nodes), after: count(answer.after.empty_nodes) },
    ...(answer.before.fragmentation === null ? [] : [{ name: "GPUs that are free and of no use", before: percent(answer.before.fragmentation, 1), after: percent(answer.after.fragmentation, 1) }]),
    ...Object.keys(answer.before.utilisation).map((name) => ({ name: `${name} in use`, before: percent(answer.before.utilisation[name], 1), after: percent(answer.after.utilisation[name], 1) })),
  ].filter((row) => row.before !== row.after);
  return html`<ul class="plain">${answer.sentences.map((words) => html`<li>${words}</li>`)}</ul>
    ${answer.decisions ? html`<div class="legend"><span>${count(answer.same)} the same</span><span>${count(answer.different)} elsewhere</span><span>${count(answer.no_node)} without a node</span></div>${meter(answer.same / answer.decisions, "the same")}` : nothing}
    <div class="grid g-even">
      <div>${rows.length ? table({ columns: [{ name: "name", title: "", cell: (row) => row.name }, { name: "before", title: `With ${answer.instead_of}`, isNumber: true, cell: (row) => row.before }, { name: "after", title: `With ${answer.profile}`, isNumber: true, cell: (row) => row.after }], rows, key: (row) => row.name, caption: "Before and after" }) : html`<p class="soft">Nothing would add up differently.</p>`}</div>
      <div>${answer.examples.length ? html`<div class="tools"><span class="grow"></span>${exportButtons(CHOICES, () => answer.examples, `preview-${answer.profile}`)}</div>${table({ columns: CHOICES, rows: answer.examples, key: (row) => `${row.id}.${row.node}.${row.would_be}`, caption: "Tasks that would have gone elsewhere" })}` : nothing}</div>
    </div>
    <p class="soft">${commandToCopy(`dovetail profiles preview ${answer.profile}`)}</p>`;
}

export default definePage({
  title: () => "Profiles",
  load: ({ signal }) => get("/profiles", {}, signal),
  view: (/** @type {Profiles} */ data, { route, redraw }) => {
    const shown = route.query.get("preview") ?? "";
    const other = data.schedulers.filter((one) => one.namespaces.length || Object.keys(one.node_selector).length || one.name !== "default");
    return html`<h1>Profiles</h1>
      <p class="lead">${plural(data.profiles.length, "profile")}; ${data.default} unless a workload says otherwise. They are set in the settings of the server.</p>
      ${shown ? previewPanel(shown, redraw) : nothing}
      <div class="grid g-even">${[...data.profiles].sort((a, b) => Number(b.default) - Number(a.default)).map((one) => card(one, data.schedulers, shown, redraw))}</div>
      ${other.length ? html`<div class="panel"><h2>Schedulers</h2>${table({ columns: SCHEDULERS, rows: data.schedulers, key: (row) => row.name, caption: "Schedulers" })}</div>` : nothing}`;
  },
});

/** @type {import("../parts/table.js").Column<SchedulerRow>[]} */
const SCHEDULERS = [
  { name: "name", title: "Scheduler", cell: (row) => row.name },
  { name: "profile", title: "Profile", cell: (row) => row.profile },
  { name: "namespaces", title: "Namespaces", wraps: true, cell: (row) => row.namespaces.join(", ") || "all" },
  { name: "nodes", title: "Nodes", wraps: true, cell: (row) => Object.entries(row.node_selector).map(([key, value]) => `${key}=${value}`).join(", ") || "all" },
];
