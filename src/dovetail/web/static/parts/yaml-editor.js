/** An editor for YAML: line numbers, colours, completion of field names, and errors at their lines.
 *
 * The text is that of a plain textarea, which lies transparent above its coloured copy: selecting, undoing, spelling and
 * readers of screens work as everywhere. It says what was typed with an `edit` event.
 */
import { html, nothing, render } from "../core/view.js";
import { fieldsAt, schemas, valuesAt } from "../core/schema.js";
import { coloured } from "./yaml-colours.js";

/** @typedef {{line: number | null, message: string}} LineError */
/** @typedef {import("../core/schema.js").Choice} Choice */

const MOST_CHOICES = 12;

class YamlEditor extends HTMLElement {
  #text = "";
  /** @type {LineError[]} */
  #errors = [];
  /** @type {Choice[]} */
  #choices = [];
  #chosen = 0;
  #begun = ""; // what of the word is typed already
  /** The model that the text describes. */
  root = "Workload";
  label = "Definition as YAML";

  /** @param {string} text */
  set text(text) {
    if (text === this.#text) return;
    this.#text = text;
    this.#choices = [];
    this.#draw();
    const area = this.#area;
    if (area && area.value !== text) area.value = text;
  }

  get text() {
    return this.#text;
  }

  /** @param {LineError[]} errors */
  set errors(errors) {
    if (JSON.stringify(errors) === JSON.stringify(this.#errors)) return;
    this.#errors = errors;
    this.#draw();
  }

  connectedCallback() {
    this.#draw();
    const area = this.#area;
    if (area) area.value = this.#text;
  }

  /** The caret at the beginning of a line. @param {number} line */
  goTo(line) {
    const area = this.#area;
    if (!area) return;
    const at = this.#text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(at, at);
  }

  get #area() {
    return /** @type {HTMLTextAreaElement | null} */ (this.querySelector("textarea"));
  }

  /** @param {HTMLTextAreaElement} area */
  #typed(area) {
    this.#text = area.value;
    this.dispatchEvent(new CustomEvent("edit", { detail: this.#text, bubbles: true }));
    void this.#complete(area, false);
    this.#draw();
  }

  /** @param {HTMLTextAreaElement} area @param {boolean} isAsked even where nothing was typed */
  async #complete(area, isAsked) {
    const before = area.value.slice(0, area.selectionStart).split("\n");
    const line = before.at(-1) ?? "";
    const all = await schemas();
    const asKey = line.match(/^(\s*(?:- )?)([A-Za-z_]*)$/);
    const asValue = line.match(/^(\s*(?:- )?)([A-Za-z_]+):\s+([A-Za-z_]*)$/);
    /** @type {Choice[]} */
    let found = [];
    this.#begun = "";
    if (asKey && (asKey[2] || isAsked)) {
      this.#begun = asKey[2];
      found = fieldsAt(all, this.root, parentsOf(before, asKey[1].length));
    } else if (asValue) {
      this.#begun = asValue[3];
      found = valuesAt(all, this.root, [...parentsOf(before, asValue[1].length), asValue[2]]);
    }
    const wanted = this.#begun.toLowerCase();
    this.#choices = found.filter((one) => one.name.startsWith(wanted) && (one.name !== wanted || isAsked)).slice(0, MOST_CHOICES);
    this.#chosen = 0;
    this.#draw();
  }

  /** @param {HTMLTextAreaElement} area @param {Choice} choice */
  #accept(area, choice) {
    const before = area.value.slice(0, area.selectionStart);
    const line = before.split("\n").at(-1) ?? "";
    const indent = " ".repeat(line.length - line.trimStart().length);
    const isValue = line.includes(":");
    const rest = choice.name.slice(this.#begun.length) + (isValue ? "" : choice.isBlock ? `:\n${indent}  ` : ": ");
    this.#choices = [];
    this.#insert(area, rest);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const area = /** @type {HTMLTextAreaElement} */ (event.target);
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      void this.#complete(area, true);
      return;
    }
    if (this.#choices.length) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        this.#chosen = (this.#chosen + (event.key === "ArrowDown" ? 1 : this.#choices.length - 1)) % this.#choices.length;
        return this.#draw();
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        return this.#accept(area, this.#choices[this.#chosen]);
      }
      if (event.key === "Escape") {
        event.preventDefault();
        this.#choices = [];
        return this.#draw();
      }
    }
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const line = area.value.slice(0, area.selectionStart).split("\n").at(-1) ?? "";
      const indent = line.length - line.trimStart().length + (line.trimEnd().endsWith(":") ? 2 : 0);
      this.#insert(area, `\n${" ".repeat(indent)}`);
    }
    if (event.key === "Backspace" && area.selectionStart === area.selectionEnd && /(^|\n)( {2})+$/.test(area.value.slice(0, area.selectionStart))) {
      event.preventDefault();
      area.setSelectionRange(area.selectionStart - 2, area.selectionStart);
      this.#insert(area, "");
    }
  }

  /** As if it was typed, so that it can be undone. @param {HTMLTextAreaElement} area @param {string} text */
  #insert(area, text) {
    if (document.execCommand(text ? "insertText" : "delete", false, text)) return; // it says `input` by itself
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    this.#typed(area);
  }

  #draw() {
    if (!this.isConnected) return;
    const lines = this.#text.split("\n");
    const wrong = new Map(this.#errors.map((error) => [error.line, error.message]));
    const typed = (/** @type {Event} */ event) => this.#typed(/** @type {HTMLTextAreaElement} */ (event.target));
    const leave = () => {
      this.#choices = [];
      this.#draw();
    };
    render(
      html`<div class="editor">
        <div class="numbers" aria-hidden="true">${lines.map((_, place) => html`<span class=${wrong.has(place + 1) ? "wrong" : ""} title=${wrong.get(place + 1) ?? nothing}>${place + 1}</span>`)}</div>
        <div class="sheet">
          <pre class="colours" aria-hidden="true">${lines.map((line, place) => html`<span class=${wrong.has(place + 1) ? "line wrong" : "line"}>${coloured(line)}${"\n"}</span>`)}</pre>
          <textarea aria-label=${this.label} aria-invalid=${String(this.#errors.length > 0)} aria-autocomplete="list" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" @input=${typed} @keydown=${(/** @type {KeyboardEvent} */ event) => this.#pressed(event)} @blur=${leave}></textarea>
          ${this.#choices.length ? this.#list() : nothing}
        </div>
      </div>`,
      this,
    );
  }

  #list() {
    const area = this.#area;
    const before = (area?.value.slice(0, area.selectionStart) ?? "").split("\n");
    const place = `left:calc(${(before.at(-1)?.length ?? 0) - this.#begun.length}ch + 8px);top:calc(${before.length} * 1.5em + 8px)`;
    const take = (/** @type {MouseEvent} */ event, /** @type {Choice} */ choice) => {
      event.preventDefault();
      if (area) this.#accept(area, choice);
    };
    return html`<div class="choices" role="listbox" aria-label="Could stand here" .style=${place}>
      ${this.#choices.map((choice, number) => html`<div role="option" aria-selected=${String(number === this.#chosen)} @mousedown=${(/** @type {MouseEvent} */ event) => take(event, choice)}><b>${choice.name}</b> <span class="soft">${choice.about}</span></div>`)}
    </div>`;
  }
}

/** The keys around a line of this indent, outermost first. @param {string[]} lines until the caret @param {number} indent */
function parentsOf(lines, indent) {
  /** @type {string[]} */
  const found = [];
  let limit = indent;
  for (let at = lines.length - 2; at >= 0 && limit > 0; at -= 1) {
    const match = lines[at].match(/^(\s*(?:- )?)([A-Za-z_][\w-]*):/);
    if (match && match[1].length < limit) {
      found.unshift(match[2]);
      limit = match[1].length;
    }
  }
  return found;
}

customElements.define("yaml-editor", YamlEditor);
