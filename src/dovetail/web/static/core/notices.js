/** Short messages about what was done, questions before something is done, and copying. */
import { html, render } from "./view.js";
import { Problem } from "./api.js";

/** @param {string} text @param {"ok" | "bad"} [kind] */
export function toast(text, kind = "ok") {
  let host = document.querySelector(".toasts");
  if (host === null) {
    host = document.createElement("div");
    host.className = "toasts";
    host.setAttribute("role", "status");
    document.body.append(host);
  }
  const item = document.createElement("div");
  item.className = `toast ${kind}`;
  item.textContent = text;
  host.append(item);
  setTimeout(() => item.remove(), kind === "ok" ? 4000 : 9000);
}

/** Do it, and say what happened. @template T @param {() => Promise<T>} action @param {string | ((answer: T) => string)} done @returns {Promise<T | null>} */
export async function attempt(action, done) {
  try {
    const answer = await action();
    toast(typeof done === "string" ? done : done(answer));
    return answer;
  } catch (error) {
    toast(wordsOf(error), "bad");
    return null;
  }
}

/** @param {unknown} error */
export const wordsOf = (error) => (error instanceof Problem || error instanceof Error ? error.message : String(error));

/** Ask before something that cannot be taken back. @param {string} question @param {string} detail @param {string} action words of the button
 * @returns {Promise<boolean>} */
export function confirm(question, detail, action) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", question);
  document.body.append(dialog);
  return new Promise((resolve) => {
    /** @param {boolean} answer */
    const close = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    dialog.addEventListener("cancel", () => close(false));
    render(
      html`<div class="body"><h2 class="title">${question}</h2><p class="soft">${detail}</p></div>
        <div class="foot"><button class="btn" @click=${() => close(false)}>Leave it</button><button class="btn danger" @click=${() => close(true)}>${action}</button></div>`,
      dialog,
    );
    dialog.showModal();
  });
}

/** @param {string} text */
export async function copy(text) {
  await navigator.clipboard.writeText(text).then(
    () => toast("Copied"),
    () => toast("The browser does not allow copying here; select the text instead", "bad"),
  );
}

/** @param {string} name @param {string} content @param {string} kind a media type */
export function download(name, content, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
