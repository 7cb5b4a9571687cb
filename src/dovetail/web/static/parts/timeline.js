/** The life of a workload on one line, with how long each part took. */
import { html, nothing } from "../core/view.js";
import { duration, time } from "../core/format.js";

/** @typedef {import("../types").Schemas["WorkloadDetail"]} WorkloadDetail */

/** The steps in order; `at` is null for one that is still to come. A step that was skipped, or of which nothing is known, is left out.
 * @param {WorkloadDetail} workload @param {number} now @returns {{word: string, at: number | null}[]} */
function stepsOf(workload, now) {
  const { submitted_at, placed_at, started_at, finished_at } = workload;
  const bound_at = workload.bound_at ?? null; // an older server does not say it
  const isOpen = finished_at === null;
  const queued = { word: "queued", at: now };
  if (isOpen && placed_at === null) return [{ word: "submitted", at: submitted_at }, queued, ...["placed", "bound", "running", "done"].map((word) => ({ word, at: null }))];
  const past = [
    { word: "submitted", at: submitted_at },
    { word: "placed", at: placed_at },
    { word: "bound", at: bound_at },
    { word: "running", at: started_at },
  ];
  const known = past.filter(({ word, at }) => at !== null || (isOpen && (word === "running" || (word === "bound" && started_at === null))));
  const isAgain = isOpen && workload.state === "pending";
  return [...(isAgain ? [...known.filter(({ at }) => at !== null), queued] : known), { word: isOpen ? "done" : workload.state, at: finished_at }];
}

/** @param {WorkloadDetail} workload */
export function timeline(workload) {
  const now = Date.now() / 1000;
  const steps = stepsOf(workload, now);
  const isOpen = workload.finished_at === null;
  const reached = steps.filter((step) => step.at !== null).length - 1;
  return html`<ol class="timeline" aria-label="Timeline">
    ${steps.map((step, place) => {
      const before = place ? steps[place - 1].at : null;
      const until = step.at ?? (place === reached + 1 && steps[reached].word !== "queued" ? now : null);
      const tookS = before === null || until === null ? null : step.word === "queued" && steps[place - 1].word === "running" ? workload.ran_s : until - before;
      const took = tookS === null ? "" : duration(tookS);
      const kind = step.at === null ? "soft" : place === reached && isOpen ? (step.word === "running" ? "now ok" : "now warn") : "";
      return html`${place ? html`<li class="between" aria-hidden=${String(!took)}><em>${took}</em></li>` : nothing}
        <li class=${kind} aria-current=${kind.startsWith("now") ? "step" : nothing}>${step.at === null ? "○" : sign(step.word)} ${step.word} ${step.at === null || step.word === "queued" ? nothing : html`<span class="faint">${time(step.at)}</span>`}</li>`;
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
