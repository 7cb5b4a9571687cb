/** How it looks while something loads, when there is nothing, and how a command to copy looks. */
import { html, nothing } from "../core/view.js";
import { copy } from "../core/notices.js";

/** @typedef {import("../core/view.js").Rendered} Rendered */

/** @param {number} [lines] */
export const skeleton = (lines = 8) =>
  html`<div class="panel skeleton pulse" role="status" aria-label="Loading">${Array.from({ length: lines }, (_, place) => html`<i .style=${`width:${92 - ((place * 37) % 45)}%`}></i>`)}</div>`;

/** Nothing to show, and what to do next. @param {string} what @param {Rendered} [more] @param {string} [command] */
export const empty = (what, more = nothing, command = "") => html`<div class="empty"><b>${what}</b>${more}${command ? html`<p>${commandToCopy(command)}</p>` : nothing}</div>`;

/** @param {string} command */
export const commandToCopy = (command) => html`<span class="copy"><code>${command}</code><button class="btn quiet" aria-label="Copy" @click=${() => copy(command)}>copy</button></span>`;
