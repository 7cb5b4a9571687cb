/** Log in: with the link that `dovetail open` prints, or with a token. Shows nothing of the cluster. */
import { html, nothing } from "../core/view.js";
import { Problem } from "../core/api.js";
import { definePage } from "../core/page.js";
import { enter } from "../core/frame.js";
import { logIn } from "../core/session.js";
import { wordsOf } from "../core/notices.js";
import { commandToCopy } from "../parts/states.js";

const TRIES = 10;

let trouble = "";

/** @param {string} token @param {() => void} redraw */
async function tryToken(token, redraw) {
  for (let tries = 1; ; tries += 1) {
    try {
      await logIn(token);
      break;
    } catch (error) {
      trouble = wordsOf(error);
      redraw();
      if (!(error instanceof Problem) || error.status !== 0 || tries === TRIES) return;
      await new Promise((done) => setTimeout(done, 1000)); // the server does not answer; the token may still be good
    }
  }
  trouble = "";
  enter(new URLSearchParams(location.search).get("next") ?? "/");
}

export default definePage({
  title: () => "Log in",
  /** The token of a link stands behind the `#`, which was sent to nobody; it goes from the address at once. */
  load: async (context) => {
    const token = location.hash.slice(1);
    if (token) {
      history.replaceState(null, "", location.pathname + location.search);
      await tryToken(token, context.redraw);
    }
    return {};
  },
  view: (_, context) => {
    const submit = (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      const field = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (event.target).elements.namedItem("token"));
      void tryToken(field.value.trim(), context.redraw);
    };
    return html`<main class="login panel">
      <h1>Dovetail</h1>
      <p class="lead">Log in with a link. On the server's machine, or wherever you have its token:</p>
      <p>${commandToCopy("dovetail open")}</p>
      ${trouble ? html`<p class="bad" role="alert">${trouble}</p>` : nothing}
      <form @submit=${submit}>
        <div class="field"><label for="token">Or with a token</label><input id="token" name="token" type="password" autocomplete="current-password" required /></div>
        <button class="btn primary">Log in</button>
      </form>
    </main>`;
  },
});
