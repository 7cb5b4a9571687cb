/** Which columns a table shows, as a list to open. */
import { html, live } from "../core/view.js";

/** @param {{name: string, title: string}[]} columns @param {string[]} shown @param {(names: string[]) => void} onChoose */
export const columnChooser = (columns, shown, onChoose) =>
  html`<details class="chooser">
    <summary class="btn quiet">Columns</summary>
    <div class="panel">
      ${columns.map((column) => {
        const change = () => onChoose(columns.map((one) => one.name).filter((name) => (name === column.name) !== shown.includes(name)));
        return html`<label><input type="checkbox" .checked=${live(shown.includes(column.name))} ?disabled=${shown.length === 1 && shown.includes(column.name)} @change=${change} /> ${column.title}</label>`;
      })}
    </div>
  </details>`;
