/** What needs a person, the worst first, each with its next step. */
import { html, nothing } from "../../core/view.js";
import { plural } from "../../core/format.js";
import { setQuery } from "../../core/route.js";

/** @typedef {import("../../types").Schemas["AttentionAnswer"]} AttentionAnswer */
/** @typedef {import("../../types").Schemas["AttentionItem"]} AttentionItem */

const FIRST = 6;
/** @type {Record<string, [string, string]>} */
const SIGNS = { bad: ["×", "Bad"], warn: ["!", "Warning"], info: ["i", "Note"] };

/** A sentence begins with a capital, but names stay as they are. @param {string} text @param {string} [name] */
const capital = (text, name) => (/^\S*[-\d/.]/.test(text) || (name && text.startsWith(name)) ? text : text.charAt(0).toUpperCase() + text.slice(1));

/** @param {AttentionAnswer} answer @param {boolean} all */
export function attentionPanel(answer, all) {
  if (!answer.items.length) return html`<section class="panel calm" aria-label="Needs attention"><span class="ok" aria-hidden="true">✓</span> <b>Nothing needs attention.</b></section>`;
  const shown = all ? answer.items : answer.items.slice(0, FIRST);
  const left = answer.total - shown.length;
  const more = !all && answer.items.length > shown.length;
  return html`<section class="panel" aria-label="Needs attention">
    <h2>Needs attention</h2>
    ${shown.map(row)}
    ${left || all ? html`<p class="soft after">${more ? html`<button class="btn quiet" @click=${() => setQuery({ all: 1 })}>${plural(left, "more", "more")}</button>` : left ? `${plural(left, "more", "more")}: dovetail attention` : nothing}${all && answer.items.length > FIRST ? html`<button class="btn quiet" @click=${() => setQuery({ all: null })}>Show fewer</button>` : nothing}</p>` : nothing}
  </section>`;
}

/** @param {AttentionItem} item */
function row(item) {
  const [sign, word] = SIGNS[item.severity] ?? SIGNS.info;
  return html`<div class="att">
    <span class=${`sign ${item.severity}`} role="img" aria-label=${word}>${sign}</span>
    <span class="wrap"><b>${capital(item.what, item.subject.name)}.</b> <span class="soft">${capital(item.detail, item.subject.name)}</span></span>
    <a class="btn" href=${`/${item.next.page}`} title=${item.next.command}>${capital(item.next.words)}</a>
  </div>`;
}
