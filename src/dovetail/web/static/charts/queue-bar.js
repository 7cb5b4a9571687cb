/** What a queue holds of one resource: within its guarantee, borrowed, and where the guarantee ends. */
import { html, nothing } from "../core/view.js";

/** As long as its maximum, or as the cluster where it has none.
 * @param {{used: number, guaranteed: number, borrowed: number, maximum: number | null, cluster: number}} use @param {string} label */
export function queueBar(use, label) {
  const whole = Math.max(use.maximum ?? use.cluster, use.used, use.guaranteed);
  const part = (/** @type {number} */ amount) => (whole ? Math.min(100, (amount * 100) / whole) : 0);
  const own = Math.max(0, use.used - use.borrowed);
  return html`<span class="queue-bar" role="img" aria-label=${label} title=${label}>
    <i class="own" .style=${`width:${part(own)}%`}></i><i class="borrowed" .style=${`left:${part(own)}%;width:${part(use.borrowed)}%`}></i>
    ${use.guaranteed && use.guaranteed < whole ? html`<i class="mark" .style=${`left:${part(use.guaranteed)}%`}></i>` : nothing}
  </span>`;
}
