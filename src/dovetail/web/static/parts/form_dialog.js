/** A question with fields, asked before something is done. It stays open, with the server's words, until the server agrees. */
import { html, nothing, render } from "../core/view.js";
import { Problem } from "../core/api.js";
import { toast, wordsOf } from "../core/notices.js";

/** @typedef {{value: string, words: string}} FieldOption */
/**
 * @typedef {object} FormField
 * @property {string} name
 * @property {string} label
 * @property {string} [value]
 * @property {string} [hint] an example, shown while the field is empty
 * @property {boolean} [required]
 * @property {"text" | "number" | "area" | "choice"} [kind]
 * @property {FieldOption[]} [options] of a choice
 */

/**
 * @template T
 * @param {object} what
 * @param {string} what.title
 * @param {string} [what.detail]
 * @param {FormField[]} what.fields
 * @param {string} what.action words of the button
 * @param {boolean} [what.isDanger]
 * @param {(values: Record<string, string>) => Promise<T>} what.run
 * @param {string | ((answer: T) => string)} what.done what is said afterwards; empty: nothing
 * @returns {Promise<T | null>} null: it was left
 */
export function askForm({ title, detail = "", fields, action, isDanger = false, run, done }) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", title);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let trouble = "";
    let isBusy = false;
    /** @param {T | null} answer */
    const close = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const submit = async (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
      isBusy = true;
      draw();
      try {
        const answer = await run(Object.fromEntries(fields.map((field) => [field.name, String(form.get(field.name) ?? "").trim()])));
        const words = typeof done === "string" ? done : done(answer);
        if (words) toast(words);
        close(answer);
      } catch (error) {
        trouble = troubleIn(error);
        isBusy = false;
        draw();
      }
    };
    const draw = () =>
      render(
        html`<form @submit=${submit}>
          <div class="body">
            <h2 class="title">${title}</h2>
            ${detail ? html`<p class="soft">${detail}</p>` : nothing}
            ${fields.map((field, place) => html`<div class="field"><label for=${`ask-${field.name}`}>${field.label}</label>${control(field, place === 0)}</div>`)}
            ${trouble ? html`<p class="bad" role="alert">${trouble}</p>` : nothing}
          </div>
          <div class="foot"><button type="button" class="btn" @click=${() => close(null)}>Leave it</button><button class=${isDanger ? "btn danger" : "btn primary"} ?disabled=${isBusy}>${action}</button></div>
        </form>`,
        dialog,
      );
    dialog.addEventListener("cancel", () => close(null));
    draw();
    dialog.showModal();
  });
}

/** @param {FormField} field @param {boolean} isFirst */
function control(field, isFirst) {
  const id = `ask-${field.name}`;
  if (field.kind === "area") return html`<textarea id=${id} name=${field.name} rows="8" ?required=${field.required} placeholder=${field.hint ?? ""} ?autofocus=${isFirst} .defaultValue=${field.value ?? ""}></textarea>`;
  if (field.kind === "choice") return html`<select id=${id} name=${field.name} ?autofocus=${isFirst}>${field.options?.map((one) => html`<option value=${one.value} ?selected=${one.value === field.value}>${one.words}</option>`)}</select>`;
  return html`<input id=${id} name=${field.name} type=${field.kind ?? "text"} step="any" ?required=${field.required} placeholder=${field.hint ?? ""} ?autofocus=${isFirst} .defaultValue=${field.value ?? ""} />`;
}

/** What was refused, field by field where the server says so. @param {unknown} error */
function troubleIn(error) {
  if (error instanceof Problem && error.errors.length) return error.errors.map((one) => (one.field ? `${one.field}: ${one.message}` : one.message)).join("; ");
  return wordsOf(error);
}
