/** Ctrl-K: find a page, a workload, a node or a queue by its name. */
import { html, nothing, render } from "./view.js";
import { get } from "./api.js";
import { go, pageOf } from "./route.js";
import { session } from "./session.js";

/** @typedef {{title: string, kind: string, href: string}} Hit */

/** @type {HTMLDialogElement | null} */
let dialog = null;
/** @type {Hit[]} */
let hits = [];
let chosen = 0;
let asked = 0;

/** @type {[string, (name: string) => string][]} */
const KINDS = [
  ["workloads", (name) => pageOf.workload(...inNamespace(name))],
  ["nodes", pageOf.node],
  ["queues", pageOf.queue],
  ["services", (name) => `/services?name=${encodeURIComponent(name)}`],
  ["policies", (name) => `/policies?name=${encodeURIComponent(name)}`],
  ["backends", pageOf.backend],
];

/** @param {string} typed @returns {[string, string]} */
function inNamespace(typed) {
  const [namespace, name] = typed.split("/");
  return name === undefined ? ["default", typed] : [namespace, name];
}

export function openPalette() {
  if (dialog !== null) return;
  dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Find");
  dialog.addEventListener("close", () => {
    dialog?.remove();
    dialog = null;
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog?.close();
  });
  document.body.append(dialog);
  void search("");
  dialog.showModal();
}

/** @param {string} text */
async function search(text) {
  const mine = (asked += 1);
  const wanted = text.toLowerCase();
  const pages = (session()?.pages ?? []).filter((page) => page.in_menu && page.title.toLowerCase().includes(wanted)).map((page) => ({ title: page.title, kind: "page", href: page.path }));
  hits = pages;
  chosen = 0;
  draw();
  if (!text) return;
  const found = await Promise.all(
    KINDS.map(async ([kind, href]) => {
      const names = await get("/names", { kind, prefix: text }).catch(() => ({ items: [] }));
      return names.items.slice(0, 8).map((/** @type {string} */ name) => ({ title: name, kind: kind.replace(/ies$/, "y").replace(/s$/, ""), href: href(name) }));
    }),
  );
  if (mine !== asked) return;
  hits = [...found.flat(), ...pages];
  draw();
}

/** @param {number} place */
function take(place) {
  const hit = hits[place];
  if (!hit) return;
  dialog?.close();
  go(hit.href);
}

function draw() {
  if (dialog === null) return;
  const typed = (/** @type {InputEvent} */ event) => void search(/** @type {HTMLInputElement} */ (event.target).value.trim());
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") return take(chosen);
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % Math.max(1, hits.length);
    draw();
    dialog?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };
  render(
    html`<input type="text" role="combobox" aria-expanded="true" aria-controls="hits" aria-activedescendant=${hits.length ? `hit-${chosen}` : nothing} aria-label="Find workload, node, queue" placeholder="Find workload, node, queue…" autofocus @input=${typed} @keydown=${pressed} />
      <div role="listbox" id="hits" aria-label="Found">
        ${hits.map((hit, place) => html`<div role="option" id=${`hit-${place}`} aria-selected=${String(place === chosen)} @click=${() => take(place)}><span>${hit.title}</span><span class="soft">${hit.kind}</span></div>`)}
        ${hits.length ? nothing : html`<div class="empty">Nothing begins with that.</div>`}
      </div>`,
    dialog,
  );
}
