/** Numbers, amounts and times, in the words of the command line. */
import { html } from "./view.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** @param {number} value */
export const count = (value) => whole.format(value);
/** @param {number} value */
export const number = (value) => some.format(value);
/** @param {number | null | undefined} share @param {number} [digits] */
export const percent = (share, digits = 0) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
/** @param {number} amount @param {string} one @param {string} [many] */
export const plural = (amount, one, many = `${one}s`) => `${count(amount)} ${amount === 1 ? one : many}`;

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
/** @param {number} amount of bytes */
export function bytes(amount) {
  let step = 0;
  while (Math.abs(amount) >= 1024 && step < SIZES.length - 1) {
    amount /= 1024;
    step += 1;
  }
  return `${amount >= 100 || Number.isInteger(amount) ? whole.format(amount) : amount.toFixed(1)} ${SIZES[step]}`;
}

/** @param {number | null | undefined} seconds @returns {string} */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value !== 0);
  return parts.slice(first, first + 2).filter(([value]) => value !== 0).map(([value, unit]) => `${value}${unit}`).join(" ");
}

const dayAndTime = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const timeOnly = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** Local, for a text. @param {number} at seconds since the epoch */
export function clock(at) {
  const moment = new Date(at * 1000);
  return (moment.toDateString() === new Date().toDateString() ? timeOnly : dayAndTime).format(moment);
}

/** Local time, with UTC on hover. @param {number | null | undefined} at seconds since the epoch */
export function time(at) {
  if (at === null || at === undefined) return html`<span class="faint">–</span>`;
  const moment = new Date(at * 1000).toISOString();
  return html`<time datetime=${moment} title=${`${moment.slice(0, 19).replace("T", " ")} UTC`}>${clock(at)}</time>`;
}

/** How long ago, with both times on hover. @param {number | null | undefined} at seconds since the epoch */
export function ago(at) {
  if (at === null || at === undefined) return html`<span class="faint">–</span>`;
  const moment = new Date(at * 1000).toISOString();
  const title = `${clock(at)} (${moment.slice(0, 19).replace("T", " ")} UTC)`;
  return html`<time datetime=${moment} title=${title}>${duration(Math.max(0, Date.now() / 1000 - at))} ago</time>`;
}

/** Of a resource, as the API writes it. @param {string} resource @param {number} amount */
export function amount(resource, amount) {
  if (resource === "memory" || resource === "disk" || resource.endsWith("memory")) return bytes(amount);
  return number(amount);
}
