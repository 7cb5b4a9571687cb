/** `<expression-check>`: whether an expression about nodes is right, and which nodes satisfy it now. */
import { html, nothing, render } from "../core/view.js";
import { send } from "../core/api.js";
import { wordsOf } from "../core/notices.js";
import { count } from "../core/format.js";
import { nodeLink } from "./badge.js";

/** @typedef {import("../types").Schemas["CheckedConstraint"]} CheckedConstraint */

class ExpressionCheck extends HTMLElement {
  /** @type {CheckedConstraint | null} */
  answer = null;
  trouble = "";
  typed = "";
  timer = 0;

  connectedCallback() {
    this.draw();
  }

  /** @param {string} typed */
  take(typed) {
    this.typed = typed;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.check(typed), 250);
  }

  /** @param {string} typed */
  async check(typed) {
    this.trouble = "";
    this.answer = null;
    if (typed.trim()) {
      try {
        const answer = await send("POST", "/constraints/check", { expression: typed, most_failing: 20 });
        if (typed !== this.typed) return;
        this.answer = answer;
      } catch (error) {
        this.trouble = wordsOf(error);
      }
    }
    this.draw();
  }

  draw() {
    render(
      html`<div class="field"><label for="expression">About a node, such as <code class="mono">node.labels.disk == "nvme" && node.free.gpu >= 4</code></label>
          <input id="expression" type="text" class="mono" autocomplete="off" spellcheck="false" @input=${(/** @type {Event} */ event) => this.take(/** @type {HTMLInputElement} */ (event.target).value)} /></div>
        <div role="status">${this.trouble ? html`<p class="bad">${this.trouble}</p>` : this.answer ? this.verdict(this.answer) : nothing}</div>`,
      this,
    );
  }

  /** @param {CheckedConstraint} answer */
  verdict(answer) {
    if (!answer.ok) return html`<p class="bad">${answer.error}</p>${answer.caret ? html`<pre>${answer.caret}</pre>` : nothing}`;
    const nodes = answer.nodes;
    return html`<p><b>${count(nodes?.satisfying ?? 0)} of ${count(nodes?.of ?? 0)} nodes</b> satisfy it now. It reads ${answer.reads?.join(", ") || "nothing"}.</p>
      ${nodes?.failing.length ? html`<p class="soft">Those that do not, the first ${count(nodes.failing.length)}:</p><ul class="plain">${nodes.failing.map((one) => html`<li>${nodeLink(one.node)} <span class="soft">${one.why}</span></li>`)}</ul>` : nothing}`;
  }
}

customElements.define("expression-check", ExpressionCheck);
