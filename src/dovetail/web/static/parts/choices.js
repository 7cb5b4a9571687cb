/** One of several: as buttons beside each other, as tabs, as a search field. */
import { html, live } from "../core/view.js";

/** @template {string} T @param {readonly (readonly [T, string])[]} options value and words @param {string} chosen @param {(value: T) => void} onChoose @param {string} label */
export const segments = (options, chosen, onChoose, label) =>
  html`<span class="seg" role="group" aria-label=${label}>${options.map(([value, words]) => html`<button aria-pressed=${String(value === chosen)} @click=${() => onChoose(value)}>${words}</button>`)}</span>`;

/** @template {string} T @param {readonly (readonly [T, string])[]} options @param {string} chosen @param {(value: T) => void} onChoose */
export const tabs = (options, chosen, onChoose) =>
  html`<div class="tabs" role="tablist">${options.map(([value, words]) => html`<button role="tab" aria-selected=${String(value === chosen)} @click=${() => onChoose(value)}>${words}</button>`)}</div>`;

/** What is being typed into a field, by its label: a page that is drawn meanwhile must not take it away. @type {Map<string, string>} */
const beingTyped = new Map();

/** Tells what was typed after a moment without typing. @param {string} value @param {(value: string) => void} onType @param {string} label */
export function searchField(value, onType, label) {
  const typed = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    clearTimeout(Number(field.dataset.timer));
    beingTyped.set(label, field.value);
    const tell = () => {
      beingTyped.delete(label);
      onType(field.value.trim());
    };
    field.dataset.timer = String(setTimeout(tell, 250));
  };
  return html`<input type="search" .value=${live(beingTyped.get(label) ?? value)} placeholder=${label} aria-label=${label} @input=${typed} />`;
}
