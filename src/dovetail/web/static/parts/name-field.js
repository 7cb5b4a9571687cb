/** A field for the name of something that is there; the server completes what is typed. */
import { html, live, render } from "../core/view.js";
import { get } from "../core/api.js";

let fields = 0;
/** @type {Map<string, string>} */
const ids = new Map();
/** What is being typed, by label: a page that is drawn meanwhile must not take it away. @type {Map<string, string>} */
const beingTyped = new Map();

/** @param {"workloads" | "nodes" | "queues" | "namespaces" | "profiles" | "backends"} kind @param {string} label @param {string} value @param {(name: string) => void} onChoose */
export function nameField(kind, label, value, onChoose) {
  const id = ids.get(label) ?? `names-${(fields += 1)}`;
  ids.set(label, id);
  const complete = async (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (event.type === "input") beingTyped.set(label, field.value);
    const typed = field.value.trim();
    const names = await get("/names", { kind, prefix: typed }).catch(() => ({ items: [] }));
    if (field.value.trim() !== typed || !field.list) return;
    render(names.items.slice(0, 50).map((/** @type {string} */ name) => html`<option value=${name}></option>`), field.list);
  };
  const take = (/** @type {HTMLInputElement} */ field) => {
    beingTyped.delete(label);
    onChoose(field.value.trim());
  };
  // Chromium says so too while it removes a field that has the focus: that is in the middle of drawing another page.
  const changed = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    queueMicrotask(() => (field.isConnected ? take(field) : beingTyped.delete(label)));
  };
  // A shortcut of the page, such as Ctrl Enter, comes before the field says that it changed.
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) take(/** @type {HTMLInputElement} */ (event.target));
  };
  return html`<div class="field"><label for=${`${id}-field`}>${label}</label><input type="text" id=${`${id}-field`} list=${id} autocomplete="off" spellcheck="false" .value=${live(beingTyped.get(label) ?? value)} @focus=${complete} @input=${complete} @change=${changed} @keydown=${pressed} /><datalist id=${id}></datalist></div>`;
}
