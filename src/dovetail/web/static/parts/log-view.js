/** The output of a task as it is written: follows, can be searched, held still and downloaded. */
import { html, nothing, render } from "../core/view.js";
import { API, address, get } from "../core/api.js";
import { count, plural } from "../core/format.js";
import { attempt, download, wordsOf } from "../core/notices.js";
import { searchField } from "./choices.js";

/** @typedef {{ref: string, replica: number, attempt: number | null}} LogSource `ref`: as in addresses of the API */

const KEPT_LINES = 5000; // more than anybody reads, and a browser still scrolls
const FIRST_LINES = 1000;
const PIECE = 1024 * 1024;
const RETRY_MS = 2000;

class LogView extends HTMLElement {
  /** @type {LogSource | null} */
  #source = null;
  /** @type {string[]} */
  #lines = [];
  #rest = "";
  #search = "";
  #state = "reading";
  #trouble = "";
  #isHeld = false;
  #isDrawing = false;
  #reading = new AbortController();

  /** @param {LogSource} next */
  set source(next) {
    if (JSON.stringify(next) === JSON.stringify(this.#source)) return;
    this.#source = next;
    if (this.isConnected) this.#begin();
  }

  connectedCallback() {
    this.#begin();
  }

  disconnectedCallback() {
    this.#reading.abort();
  }

  #begin() {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#lines = [];
    this.#rest = "";
    this.#trouble = "";
    this.#state = "reading";
    this.#draw();
    if (this.#source) void this.#follow(this.#source, this.#reading.signal);
  }

  /** @param {LogSource} source @param {AbortSignal} signal */
  async #follow({ ref, replica, attempt: number }, signal) {
    try {
      const query = { replica, attempt: number, tail: FIRST_LINES, follow: true };
      const answer = await fetch(address(`${API}/workloads/${ref}/logs`, query), { signal, credentials: "same-origin" });
      if (!answer.ok || answer.body === null) {
        const problem = await answer.json().catch(() => ({}));
        throw new Error(problem.detail ?? answer.statusText);
      }
      this.#state = "follows";
      this.#draw();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#take(value);
      }
      if (this.#rest) this.#lines.push(this.#rest);
      this.#rest = "";
      this.#state = "ended";
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TypeError) {
        this.#state = "lost the connection; tries again";
        setTimeout(() => !signal.aborted && this.#begin(), RETRY_MS);
      } else {
        this.#trouble = wordsOf(error);
        this.#state = "ended";
      }
    }
    this.#draw();
  }

  /** @param {string} text */
  #take(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    this.#lines.push(...lines);
    if (this.#lines.length > KEPT_LINES) this.#lines.splice(0, this.#lines.length - KEPT_LINES);
    if (!this.#isHeld) this.#drawSoon();
  }

  /** At most once a frame, however much is written. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  async #download() {
    const source = this.#source;
    if (!source) return;
    const whole = await attempt(async () => {
      let text = "";
      for (;;) {
        const piece = await get(`/workloads/${source.ref}/logs`, { replica: source.replica, attempt: source.attempt, offset: new TextEncoder().encode(text).length, limit: PIECE });
        text += piece;
        if (!piece) return text;
      }
    }, "Downloaded");
    if (whole !== null) download(`task-${source.replica}.log`, whole, "text/plain");
  }

  #draw() {
    const box = this.querySelector("pre");
    const wasAtEnd = !box || box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const wanted = this.#search.toLowerCase();
    const all = this.#rest ? [...this.#lines, this.#rest] : this.#lines;
    const shown = wanted ? all.filter((line) => line.toLowerCase().includes(wanted)) : all;
    const hold = () => {
      this.#isHeld = !this.#isHeld;
      this.#draw();
    };
    const search = (/** @type {string} */ text) => {
      this.#search = text;
      this.#draw();
    };
    render(
      html`<div class="tools">
          ${searchField(this.#search, search, "Lines with")}
          <span class="soft">${wanted ? `${count(shown.length)} of ${count(all.length)} lines` : plural(all.length, "line")}, ${this.#isHeld ? "held still" : this.#state}</span>
          <span class="grow"></span>
          ${this.#state === "follows" ? html`<button class="btn quiet" aria-pressed=${String(this.#isHeld)} @click=${hold}>${this.#isHeld ? "Go on" : "Hold still"}</button>` : nothing}
          <button class="btn quiet" @click=${() => void this.#download()}>Download</button>
        </div>
        ${this.#trouble ? html`<p class="bad" role="alert">${this.#trouble}</p>` : nothing}
        <pre tabindex="0" role="log" aria-label="Output" aria-live="off">${shown.length ? shown.join("\n") : this.#state === "ended" ? "It wrote nothing." : "Nothing yet."}</pre>`,
      this,
    );
    const after = this.querySelector("pre");
    if (after && wasAtEnd && !this.#isHeld) after.scrollTop = after.scrollHeight;
  }
}

customElements.define("log-view", LogView);
