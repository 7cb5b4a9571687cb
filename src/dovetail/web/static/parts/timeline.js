/** The life of a workload on one line, with how long each part took. */
import { html, nothing } from "../core/view.js";
import { duration, time } from "../core/format.js";

/** @typedef {import("../types").Schemas["WorkloadDetail"]} WorkloadDetail */

/** @param {WorkloadDetail} workload */
export function timeline(workload) {
  const now = Date.now() / 1000;
  const { submitted_at, placed_at, started_at, finished_at } = workload;
  /** @type {{word: string, at: number | null}[]} */
  const steps = [{ word: "submitted", at: submitted_at }];
  if (finished_at === null && placed_at === null) steps.push({ word: "waiting", at: now });
  if (finished_at === null || placed_at !== null) steps.push({ word: "placed", at: placed_at });
  if (finished_at === null || started_at !== null) steps.push({ word: "running", at: started_at });
  steps.push({ word: finished_at === null ? "done" : workload.state, at: finished_at });
  const reached = steps.filter((step) => step.at !== null).length - 1;
  return html`<ol class="timeline" aria-label="Timeline">
    ${steps.map((step, place) => {
      const before = place ? steps[place - 1].at : null;
      const until = step.at ?? (place === reached + 1 && step.word !== "placed" ? now : null);
      const took = before !== null && until !== null ? duration(until - before) : "";
      const kind = step.at === null ? "soft" : place === reached && finished_at === null ? (step.word === "running" ? "now ok" : "now warn") : "";
      return html`${place ? html`<li class="between" aria-hidden=${String(!took)}><em>${took}</em></li>` : nothing}
        <li class=${kind} aria-current=${kind.startsWith("now") ? "step" : nothing}>${step.at === null ? "○" : sign(step.word)} ${step.word} ${step.at === null || step.word === "waiting" ? nothing : html`<span class="faint">${time(step.at)}</span>`}</li>`;
    })}
  </ol>`;
}

/** @param {string} word */
const sign = (word) => ({ succeeded: html`<span class="ok">✓</span>`, failed: html`<span class="bad">×</span>` })[word] ?? "●";

/** When it will probably start, in the words of the command line. @param {{starts_at: number | null, starts_early: number | null, starts_late: number | null}} row */
export function startsAbout({ starts_at, starts_early, starts_late }) {
  if (starts_at === null) return nothing;
  const between = starts_early === null || starts_late === null ? nothing : html` <span class="soft">(${time(starts_early)}–${time(starts_late)})</span>`;
  return html`Starts about <b>${time(starts_at)}</b>${between}.`;
}
