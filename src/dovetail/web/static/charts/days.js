/** A bar a day: what work cost, and above it what nobody used. */
import { html } from "../core/view.js";

/** @typedef {{day: string, currency: string, work: number, idle: number}} CostDay */

/** @param {CostDay[]} days @param {(amount: number, currency: string) => string} money */
export function dayBars(days, money) {
  days = wholeMonth(days);
  const most = Math.max(...days.map((day) => day.work + day.idle), 1e-9);
  return html`<div class="day-bars" role="img" aria-label="Cost by day">
      ${days.map((day) => html`<div class="day" title=${`${day.day}: ${money(day.work, day.currency)} work, ${money(day.idle, day.currency)} that nobody used`}><span class="bars"><i class="idle" .style=${`height:${(day.idle * 100) / most}%`}></i><i .style=${`height:${(day.work * 100) / most}%`}></i></span><small>${Number(day.day.slice(8))}</small></div>`)}
    </div>
    <div class="legend"><span><i class="work-colour"></i>work</span><span><i class="idle-colour"></i>nobody used</span></div>`;
}

/** Days of which nothing is known are empty, so that a month always looks like one. @param {CostDay[]} days */
function wholeMonth(days) {
  const [year, month] = days[0].day.split("-").map(Number);
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return Array.from({ length: last }, (_, place) => `${days[0].day.slice(0, 8)}${String(place + 1).padStart(2, "0")}`).flatMap((day) => {
    const known = days.filter((one) => one.day === day);
    return known.length ? known : [{ day, currency: days[0].currency, work: 0, idle: 0 }];
  });
}
