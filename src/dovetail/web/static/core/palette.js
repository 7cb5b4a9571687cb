/** Ctrl-K: find a page, an action, a workload, a node or a queue by a part of its name, or a workload by its id. */
import { html, nothing, render } from "./view.js";
import { get } from "./api.js";
import { go, pageOf, routeOf } from "./route.js";
import { session } from "./session.js";

/** @typedef {{title: string, kind: string, href: string}} Hit */

const RECENT = "dovetail-recent";
const MOST_RECENT = 8;
const OF_A_KIND = 6;
const TYPING_MS = 120;

/** @type {Hit[]} */
const ACTIONS = [
  { title: "Submit work", kind: "action", href: "/submit" },
  { title: "Why is a workload not on a node?", kind: "action", href: "/why-not" },
  { title: "What if nodes or profiles were others?", kind: "action", href: "/what-if" },
  { title: "What waits?", kind: "action", href: "/workloads?state=pending" },
  { title: "What failed?", kind: "action", href: "/workloads?state=failed" },
];

/** Few of each, so all are asked for once. @type {[string, (name: string) => string][]} */
const SMALL_KINDS = [
  ["queues", pageOf.queue],
  ["services", (name) => `/services?name=${encodeURIComponent(name)}`],
  ["policies", (name) => `/policies?name=${encodeURIComponent(name)}`],
  ["backends", pageOf.backend],
  ["profiles", (name) => `/profiles?name=${encodeURIComponent(name)}`],
];

/** @type {HTMLDialogElement | null} */
let dialog = null;
/** @type {Hit[]} */
let hits = [];
let chosen = 0;
let asked = 0;
let typing = 0;
let isSearching = false;
/** @type {Promise<Hit[]> | null} */
let small = null;

export function openPalette() {
  if (dialog?.open) return;
  rememberPage();
  small = null;
  const opened = document.createElement("dialog");
  dialog = opened;
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Find");
  dialog.addEventListener("close", () => {
    opened.remove();
    if (dialog !== opened) return; // this is told later than it closed, and another was opened since
    clearTimeout(typing);
    asked += 1;
    dialog = null;
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog?.close();
  });
  document.body.append(dialog);
  search("");
  dialog.showModal();
}

// --- what was looked at before ---

/** @returns {Hit[]} */
function recent() {
  try {
    const known = JSON.parse(localStorage.getItem(RECENT) ?? "[]");
    return known.filter((/** @type {Hit} */ hit) => typeof hit.title === "string" && typeof hit.href === "string" && hit.href.startsWith("/") && !hit.href.startsWith("//"));
  } catch {
    return [];
  }
}

/** @param {Hit} hit */
function remember(hit) {
  const others = recent().filter((one) => one.href !== hit.href);
  localStorage.setItem(RECENT, JSON.stringify([hit, ...others].slice(0, MOST_RECENT)));
}

/** The workload or node that is open. */
function rememberPage() {
  const { page, rest } = routeOf();
  if (page === "/workload" && rest.length === 2) remember({ title: rest.join("/"), kind: "workload", href: pageOf.workload(rest[0], rest[1]) });
  if (page === "/node" && rest.length === 1) remember({ title: rest[0], kind: "node", href: pageOf.node(rest[0]) });
}

// --- search ---

/** @param {string} text */
function search(text) {
  const mine = (asked += 1);
  const wanted = text.toLowerCase();
  const pages = (session()?.pages ?? []).filter((page) => page.in_menu).map((page) => ({ title: page.title, kind: "page", href: page.path }));
  const here = [...pages, ...ACTIONS].filter((hit) => hit.title.toLowerCase().includes(wanted));
  hits = text ? here : [...recent().map((hit) => ({ ...hit, kind: `recent ${hit.kind}` })), ...here];
  chosen = 0;
  isSearching = text !== "";
  draw();
  clearTimeout(typing);
  if (!text) return;
  typing = window.setTimeout(async () => {
    const found = await Promise.all([byId(text), workloads(text), nodes(text), ofSmallKinds(wanted)]);
    if (mine !== asked) return;
    hits = [...found.flat(), ...here];
    isSearching = false;
    draw();
  }, TYPING_MS);
}

/** @param {{namespace: string, name: string}} row @param {string} [more] @returns {Hit} */
const toWorkload = (row, more = "") => ({ title: row.namespace === "default" ? row.name : `${row.namespace}/${row.name}`, kind: `workload${more}`, href: pageOf.workload(row.namespace, row.name) });

/** @param {string} text @returns {Promise<Hit[]>} */
async function byId(text) {
  if (!/^\d{1,15}$/.test(text)) return [];
  const found = await get(`/names/${text}`).catch(() => ({ workloads: [] }));
  return found.workloads.slice(0, 1).map((/** @type {any} */ row) => toWorkload(row, ` ${text}`));
}

/** @param {string} text name, or namespace/name @returns {Promise<Hit[]>} */
async function workloads(text) {
  const [first, name] = text.split("/");
  const query = name === undefined ? { search: first } : { namespace: first, search: name };
  const found = await get("/workloads", { ...query, limit: OF_A_KIND }).catch(() => ({ items: [] }));
  return found.items.map((/** @type {any} */ row) => toWorkload(row, ` · ${row.state}`));
}

/** @param {string} text @returns {Promise<Hit[]>} */
async function nodes(text) {
  const found = await get("/nodes", { search: text, limit: OF_A_KIND }).catch(() => ({ items: [] }));
  return found.items.slice(0, OF_A_KIND).map((/** @type {any} */ row) => ({ title: row.name, kind: "node", href: pageOf.node(row.name) }));
}

/** @param {string} wanted in lower case @returns {Promise<Hit[]>} */
async function ofSmallKinds(wanted) {
  small ??= Promise.all(
    SMALL_KINDS.map(async ([kind, href]) => {
      const names = await get("/names", { kind }).catch(() => ({ items: [] }));
      return names.items.map((/** @type {string} */ name) => ({ title: name, kind: kind.replace(/ies$/, "y").replace(/s$/, ""), href: href(name) }));
    }),
  ).then((found) => found.flat());
  return (await small).filter((hit) => hit.title.toLowerCase().includes(wanted)).slice(0, 2 * OF_A_KIND);
}

// --- the dialog ---

/** @param {number} place */
function take(place) {
  const hit = hits[place];
  if (!hit) return;
  const kind = hit.kind.replace(/^recent /, "");
  if (kind !== "page" && kind !== "action") remember({ ...hit, kind: kind.split(" ")[0] });
  dialog?.close();
  go(hit.href);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.key === "Enter") return take(chosen);
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  chosen = (chosen + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % Math.max(1, hits.length);
  draw();
  dialog?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
}

function draw() {
  if (dialog === null) return;
  const typed = (/** @type {InputEvent} */ event) => search(/** @type {HTMLInputElement} */ (event.target).value.trim());
  render(
    html`<input type="text" role="combobox" aria-expanded=${String(hits.length > 0)} aria-controls="hits" aria-activedescendant=${hits.length ? `hit-${chosen}` : nothing} aria-label="Find workload, node, queue" placeholder="Find workload, node, queue…" autofocus autocomplete="off" spellcheck="false" @input=${typed} @keydown=${pressed} />
      <div class="found" aria-busy=${String(isSearching)}>
        ${hits.length ? html`<div role="listbox" id="hits" aria-label="Found">${hits.map((hit, place) => html`<div role="option" id=${`hit-${place}`} aria-selected=${String(place === chosen)} @click=${() => take(place)}><span class="wrap">${hit.title}</span><span class="soft nowrap">${hit.kind}</span></div>`)}</div>` : html`<div class="empty" role="status">${isSearching ? "Looking …" : "Nothing has that in its name."}</div>`}
      </div>`,
    dialog,
  );
}
