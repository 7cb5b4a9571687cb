/** The map: region, spine, leaf, rack, node and GPU in one picture; or the same as a table. */
import { html, nothing } from "../core/view.js";
import { Problem, get, getShared, segment } from "../core/api.js";
import { definePage } from "../core/page.js";
import { go, pageOf, setQuery } from "../core/route.js";
import { count, plural } from "../core/format.js";
import { searchField, segments } from "../parts/choices.js";
import { empty } from "../parts/states.js";
import { MapModel } from "../parts/map/model.js";
import { COLOURINGS, mapLegend } from "../parts/map/colouring.js";
import { gangPanel } from "../parts/map/gang-panel.js";
import { domainTable } from "../parts/map/domain-table.js";
import "../parts/topology-map.js";

/** @typedef {import("../types").Schemas["MapWorkload"]} MapWorkload */
/** @typedef {import("../parts/map/colouring.js").Colouring} Colouring */
/** @typedef {{model: MapModel, workload: MapWorkload | null, explanation: any, missing: string}} Data */

const EXPLAIN_EVERY_MS = 3000; // it is dearer than the map
const SOONEST_MS = 100;
const LATEST_MS = 5000;
const A_NODE_MS = 20; // where many nodes change all the time, nobody follows each: the server has more important things to do
const MANY_NODES_MS = 2000;
const SHARED_MS = 400; // who looks so seldom gets what was made for another page

let model = new MapModel();
let restMs = SOONEST_MS;
/** @type {{ref: string, at: number, answer: any}} */
let explained = { ref: "", at: 0, answer: null };

/** @param {string} ref as people write it: name, or namespace/name */
function inParts(ref) {
  const [namespace, name] = ref.split("/");
  return name ? { name, namespace } : { name: namespace, namespace: undefined };
}

/** @param {string} ref @param {AbortSignal} signal */
async function explain(ref, signal) {
  if (explained.ref !== ref || performance.now() - explained.at > EXPLAIN_EVERY_MS) {
    const { name, namespace } = inParts(ref);
    const answer = await get(`/workloads/${segment(name)}/explain`, { namespace }, signal).catch(() => null);
    explained = { ref, at: performance.now(), answer };
  }
  return explained.answer;
}

/** @param {string} ref @param {AbortSignal} signal @returns {Promise<Data>} */
async function follow(ref, signal) {
  const { name, namespace } = ref ? inParts(ref) : { name: undefined, namespace: undefined };
  const began = performance.now();
  try {
    const answer = await getShared(restMs < SHARED_MS ? 0 : Math.max(1, restMs / 1250), "/topology/map", { after: model.version, workload: name, namespace }, signal);
    model.apply(answer);
    const rows = answer.full ? 0 : answer.nodes.row.length;
    restMs = Math.min(LATEST_MS, Math.max(SOONEST_MS, 6 * (performance.now() - began), Math.min(MANY_NODES_MS, A_NODE_MS * rows)));
    return { model, workload: answer.workload ?? null, explanation: ref ? await explain(ref, signal) : null, missing: "" };
  } catch (error) {
    if (!ref || !(error instanceof Problem) || ![404, 409, 422].includes(error.status)) throw error;
    return { ...(await follow("", signal)), missing: error.message };
  }
}

/** Which nodes have this in their names. @param {MapModel} of @param {string} text */
const rowsWith = (of, text) => new Set(text ? [...of.nodes.values()].filter((node) => node.name.includes(text)).map((node) => node.row) : []);

/** @param {Data} data */
function lead({ model: of, workload }) {
  const levels = of.levels.map((level, place) => [of.domains.filter((domain) => domain.level === place).length, level]).filter(([number]) => Number(number) > 1);
  const words = levels.map(([number, level]) => plural(Number(number), String(level), level === "leaf" ? "leaves" : `${level}s`));
  const gpus = [...of.nodes.values()].reduce((sum, node) => sum + node.gpus, 0);
  const picked = workload ? `${workload.namespace}/${workload.name} is selected: ${workload.row.length ? `on ${plural(workload.row.length, "node")}${workload.domain ? ` in ${workload.level === "host" ? "" : `${workload.level} `}${workload.domain}` : ""}.` : "it holds no node now."}` : "";
  return `${[...words, plural(of.nodes.size, "node"), ...(gpus ? [`${count(gpus)} GPUs`] : [])].join(", ")}. ${picked}`;
}

/** The way back from a domain. @param {MapModel} of @param {string} at */
function crumbs(of, at) {
  const node = [...of.nodes.values()].find((one) => one.name === at);
  const path = [];
  for (let index = node ? node.domain : of.domains.findIndex((domain) => domain.name === at); index >= 0; index = of.domains[index].parent) path.unshift(of.domains[index].name);
  const names = node ? [...path, node.name] : path.length || !at ? path : [at];
  return html`<nav class="crumbs soft" aria-label="Part of the map"><button class="btn quiet" @click=${() => setQuery({ at: null, eye: null })}>Everything</button>${names.map((name) => html`<span>›</span><button class="btn quiet" aria-current=${name === at ? "location" : "false"} @click=${() => setQuery({ at: name, eye: null })}>${name}</button>`)}</nav>`;
}

export default definePage({
  title: () => "Topology",
  begin: () => {
    model = new MapModel();
    return () => {};
  },
  everyS: 5, // cheap when nothing changed; a shared answer may be older than the last event
  /** Soon after a change; less often where the server takes long to answer or much changes at once. */
  get atMostEveryMs() {
    return restMs;
  },
  follows: (event) => event.node !== null || event.workload === null,
  load: ({ route, signal }) => follow(route.query.get("workload") ?? "", signal),
  view: (/** @type {Data} */ data, { route }) => {
    const query = route.query;
    const by = /** @type {Colouring} */ (COLOURINGS.find(([name]) => name === query.get("colour"))?.[0] ?? "use");
    const [at, search, as] = [query.get("at") ?? "", query.get("search") ?? "", query.get("as") ?? "map"];
    const found = rowsWith(data.model, search);
    if (data.model.nodes.size === 0) return html`<h1>Topology</h1>${empty("No nodes yet", "Nodes appear here as soon as a backend or an agent brings them. On a machine that is to be a node:", "dovetail agent")}`;
    const pick = (/** @type {Event} */ event) => setQuery({ workload: /** @type {HTMLInputElement} */ (event.target).value.trim() }, { push: true });
    const shown = { model: data.model, by, workload: data.workload, found, at, eye: query.get("eye") ?? "" };
    const moved = (/** @type {CustomEvent<string>} */ event) => setQuery({ eye: event.detail });
    const toDomain = (/** @type {CustomEvent<string>} */ event) => setQuery({ at: event.detail, eye: null }, { push: true });
    return html`<h1>Topology</h1>
      <p class="lead">${lead(data)}</p>
      <div class=${data.workload || data.missing ? "map-page picked" : "map-page"}>
        <section class="panel map" aria-label="Map">
          <div class="tools">
            ${as === "table" ? nothing : segments(COLOURINGS, by, (colour) => setQuery({ colour: colour === "use" ? null : colour }), "Colour by")}
            <span class="grow"></span>
            ${searchField(search, (text) => setQuery({ search: text }), "Find nodes")}${search ? html`<span class="soft" role="status">${plural(found.size, "node")}</span>` : nothing}
            <input type="text" size="24" aria-label="Show a workload" placeholder="Workload: namespace/name" .value=${query.get("workload") ?? ""} @change=${pick} />
          </div>
          <div class="tools">${crumbs(data.model, at)}${as === "map" ? mapLegend(by, data.model) : nothing}<span class="grow"></span>${segments([["map", "Map"], ["table", "Table"]], as, (way) => setQuery({ as: way === "map" ? null : way }), "Show as")}</div>
          ${as === "table" ? domainTable(data.model, at, found, route) : html`<topology-map .shown=${shown} @node=${(/** @type {CustomEvent<string>} */ event) => go(pageOf.node(event.detail))} @domain=${toDomain} @moved=${moved}></topology-map>`}
        </section>
        ${data.missing ? html`<aside class="panel side"><h2>No such workload</h2><p class="soft">${data.missing}</p></aside>` : data.workload ? gangPanel(data.workload, data.explanation) : nothing}
      </div>`;
  },
});
