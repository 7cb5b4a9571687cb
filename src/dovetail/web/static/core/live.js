/** Events as they happen: one stream for all of a tab, opened again by itself after a restart of the server.
 *
 * `fetch` and not `EventSource`: that one delivers an event only to who names its kind, and says nothing about why it failed.
 */
import { API, address } from "./api.js";

/** @typedef {import("../types").Schemas["HistoryRow"]} LiveEvent */
/** @typedef {"live" | "paused" | "lost" | "off"} Connection */

const RETRY_MS = 1000;
const SILENT_MS = 45_000; // the server says "still here" more often
const MOST = 20; // events at once: nobody follows more, and the server has more important things to do

/** @type {Set<(event: LiveEvent) => void>} */
const listeners = new Set();
/** @type {Set<(state: Connection) => void>} */
const watchers = new Set();
/** @type {Connection} */
let state = "off";
let newest = 0;
/** @type {AbortController | null} */
let running = null;

export const connection = () => state;

/** @param {(event: LiveEvent) => void} listener @returns {() => void} ends it */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @type {Set<() => void>} */
const whenSkipped = new Set();
/** @param {() => void} listener called when more happened than was told @returns {() => void} ends it */
export function onSkipped(listener) {
  whenSkipped.add(listener);
  return () => whenSkipped.delete(listener);
}

/** @param {(state: Connection) => void} watcher @returns {() => void} ends it */
export function onConnection(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function connect() {
  running?.abort();
  running = new AbortController();
  void keepReading(running.signal);
}

export const pause = () => end("paused");
export const disconnect = () => end("off");

/** @param {"paused" | "off"} next */
function end(next) {
  running?.abort();
  running = null;
  become(next);
}

/** @param {AbortSignal} signal */
async function keepReading(signal) {
  while (!signal.aborted) {
    try {
      await read(signal);
    } catch {
      // lost; the state says so below
    }
    if (signal.aborted) return;
    become("lost");
    await new Promise((done) => setTimeout(done, RETRY_MS * (1 + Math.random())));
  }
}

/** Until the stream ends. @param {AbortSignal} signal */
async function read(signal) {
  const silence = new AbortController();
  let timer = 0;
  const heardSomething = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENT_MS);
  };
  heardSomething();
  try {
    const answer = await fetch(address(`${API}/events`, { after: newest || undefined, most: MOST }), {
      headers: { Accept: "text/event-stream" },
      credentials: "same-origin",
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!answer.ok || answer.body === null) throw new Error(`HTTP ${answer.status}`);
    become("live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heardSomething();
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) deliver(block);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** @param {string} block one server-sent event */
function deliver(block) {
  if (block.startsWith("event: skipped")) {
    for (const listener of whenSkipped) listener();
    return;
  }
  const data = block.split("\n").find((line) => line.startsWith("data: "));
  if (data === undefined) return;
  /** @type {LiveEvent} */
  const event = JSON.parse(data.slice(6));
  newest = Math.max(newest, event.seq);
  for (const listener of listeners) listener(event);
}

/** @param {Connection} next */
function become(next) {
  if (next === state) return;
  state = next;
  for (const watcher of watchers) watcher(next);
}
