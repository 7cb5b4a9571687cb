/** A form for the common case. It is another view of the same text: each field is a line of it. */
import { html, live, nothing } from "../core/view.js";
import { scalar } from "../core/yaml.js";
import { fieldIn, listed, shellLine, shellWords, unquoted, withField } from "../core/yaml-fields.js";
import { nameField } from "./name-field.js";

/** @typedef {{path: string[], label: string, hint?: string, isWide?: boolean}} FormField */

/** @type {FormField[]} */
const FIELDS = [
  { path: ["name"], label: "Name", hint: "train-7b" },
  { path: ["replicas"], label: "Tasks", hint: "1" },
  { path: ["run", "image"], label: "Image", hint: "none: a command of the node" },
  { path: ["resources", "cpu"], label: "CPU cores", hint: "4 or 500m" },
  { path: ["resources", "memory"], label: "Memory", hint: "16GiB" },
  { path: ["resources", "gpu"], label: "GPUs", hint: "1 or 250m" },
];
const PRIORITIES = ["critical", "high", "medium", "low", "batch"];
const ELSEWHERE = "written another way; edit it in the text";

/** @param {string} written in a field of the form */
const asWritten = (written) => (/^-?\d+(\.\d+)?$/.test(written) ? written : scalar(written));

/** @param {string} text @param {(text: string) => void} onChange */
export function submitForm(text, onChange) {
  const set = (/** @type {string[]} */ path, /** @type {string | null} */ value) => onChange(withTogether(withField(text, path, value), path));
  const name = (/** @type {string[]} */ path) => unquoted(fieldIn(text, path).value ?? "");
  return html`<div class="submit-form">
    ${FIELDS.slice(0, 2).map((field) => textField(text, field, set))} ${together(text, onChange)}
    ${command(text, set)}
    ${FIELDS.slice(2).map((field) => textField(text, field, set))}
    ${priority(text, set)}
    ${nameField("namespaces", "Namespace", name(["namespace"]), (value) => set(["namespace"], value ? scalar(value) : null))}
    ${nameField("queues", "Queue", name(["queue"]), (value) => set(["queue"], value ? scalar(value) : null))}
  </div>`;
}

/** @param {string} text @param {FormField} field @param {(path: string[], value: string | null) => void} set */
function textField(text, { path, label, hint = "" }, set) {
  const id = `field-${path.join("-")}`;
  const found = fieldIn(text, path);
  const typed = (/** @type {Event} */ event) => {
    const value = /** @type {HTMLInputElement} */ (event.target).value.trim();
    set(path, value ? asWritten(value) : null);
  };
  return html`<div class="field"><label for=${id}>${label}</label><input type="text" id=${id} autocomplete="off" spellcheck="false" placeholder=${found.isSimple ? hint : ELSEWHERE} ?disabled=${!found.isSimple} .value=${live(unquoted(found.value ?? ""))} @input=${typed} /></div>`;
}

/** @param {string} text @param {(path: string[], value: string | null) => void} set */
function command(text, set) {
  const path = ["run", "command"];
  const found = fieldIn(text, path);
  const typed = (/** @type {Event} */ event) => {
    const words = shellWords(/** @type {HTMLInputElement} */ (event.target).value);
    set(path, words.length ? JSON.stringify(words).replaceAll('","', '", "') : null);
  };
  // Drawn anew only when the words differ: a blank at the end must stay while somebody types.
  const shown = (/** @type {string} */ now) => shellLine(found.value ? listed(found.value) : []) === shellLine(shellWords(now));
  const field = /** @type {HTMLInputElement | null} */ (document.getElementById("field-command"));
  const value = field && shown(field.value) ? field.value : shellLine(found.value ? listed(found.value) : []);
  return html`<div class="field wide"><label for="field-command">Command</label><input type="text" id="field-command" class="mono" autocomplete="off" spellcheck="false" placeholder=${found.isSimple ? "python train.py --epochs 3" : ELSEWHERE} ?disabled=${!found.isSimple} .value=${live(value)} @input=${typed} /></div>`;
}

/** @param {string} text @param {(path: string[], value: string | null) => void} set */
function priority(text, set) {
  const chosen = fieldIn(text, ["priority"]).value ?? "";
  const choose = (/** @type {Event} */ event) => set(["priority"], /** @type {HTMLSelectElement} */ (event.target).value || null);
  return html`<div class="field"><label for="field-priority">Priority</label><select id="field-priority" @change=${choose}>
    <option value="" ?selected=${chosen === ""}>medium (usual)</option>
    ${PRIORITIES.filter((one) => one !== "medium" || chosen === one).map((one) => html`<option value=${one} ?selected=${one === chosen}>${one}</option>`)}
  </select></div>`;
}

/** All tasks start together, or none does. @param {string} text @param {(text: string) => void} onChange */
function together(text, onChange) {
  const gang = fieldIn(text, ["gang", "min"]);
  const replicas = fieldIn(text, ["replicas"]).value ?? "1";
  const toggle = (/** @type {Event} */ event) => onChange(withField(text, ["gang", "min"], /** @type {HTMLInputElement} */ (event.target).checked ? replicas : null));
  return html`<label class="check"><input type="checkbox" .checked=${live(gang.value !== null)} ?disabled=${!gang.isSimple} @change=${toggle} /> Start together${gang.value !== null && gang.value !== replicas ? html` <span class="faint">(at least ${gang.value})</span>` : nothing}</label>`;
}

/** A gang of all tasks stays one when their number changes. @param {string} text @param {string[]} path */
function withTogether(text, path) {
  const gang = fieldIn(text, ["gang", "min"]).value;
  const replicas = fieldIn(text, ["replicas"]).value;
  return path[0] === "replicas" && gang !== null && replicas !== null && /^\d+$/.test(replicas) ? withField(text, ["gang", "min"], replicas) : text;
}
