/** Requests to the public API, with the session of this browser. Errors say what the server said. */

export const API = "/api/v1";

/** What the server refused, in its own words. `errors`: one for each field that was wrong. */
export class Problem extends Error {
  /** @param {number} status @param {string} title @param {string} detail @param {FieldError[]} errors */
  constructor(status, title, detail, errors = []) {
    super(detail || title);
    this.name = "Problem";
    this.status = status;
    this.title = title;
    this.errors = errors;
  }
}

/** @typedef {{field?: string, message: string, line?: number, column?: number}} FieldError */

let csrf = "";
/** @param {string} token */
export const useCsrf = (token) => void (csrf = token);

/** @type {() => void} */
let onLogout = () => {};
/** @param {() => void} listener called when a request is refused because the session has ended */
export const whenLoggedOut = (listener) => void (onLogout = listener);

/** @typedef {Record<string, string | number | boolean | string[] | null | undefined>} Query */

/** The address with those parameters that have a value.
 * @param {string} path @param {Query} [query] */
export function address(path, query = {}) {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== null && one !== undefined && one !== "") pairs.append(name, String(one));
  }
  const text = pairs.toString();
  return text ? `${path}?${text}` : path;
}

/** @param {string} path below the API @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const get = (path, query, signal) => ask("GET", address(API + path, query), undefined, signal);

/** As `get`, and an answer that the server made for another page some seconds ago is good enough: many pages look at the same things.
 * @param {number} maxAgeS @param {string} path below the API @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const getShared = (maxAgeS, path, query, signal) => ask("GET", address(API + path, query), undefined, signal, maxAgeS);

/** @param {"POST" | "PUT" | "PATCH" | "DELETE"} method @param {string} path below the API @param {unknown} [body] a string is sent as YAML
 * @param {AbortSignal} [signal] @returns {Promise<any>} */
export const send = (method, path, body, signal) => ask(method, API + path, body, signal);

/** @param {string} part of a path: a name that may hold anything */
export const segment = (part) => encodeURIComponent(part);

const ANSWER_WITHIN_S = 60;

/** @param {AbortSignal} [signal] @returns {AbortSignal} which also ends what takes too long */
function withinTime(signal) {
  const late = AbortSignal.timeout(ANSWER_WITHIN_S * 1000);
  return signal ? AbortSignal.any([signal, late]) : late;
}

/** @param {string} method @param {string} url @param {unknown} body @param {AbortSignal} [signal] @param {number} [maxAgeS] */
async function ask(method, url, body, signal, maxAgeS = 0) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Dovetail-CSRF"] = csrf;
  if (maxAgeS >= 1) headers["Cache-Control"] = `max-age=${Math.floor(maxAgeS)}`;
  /** @type {BodyInit | undefined} */
  let content;
  if (typeof body === "string") {
    headers["Content-Type"] = "application/yaml";
    content = body;
  } else if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    content = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(url, { method, headers, body: content, signal: method === "GET" ? withinTime(signal) : signal, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    if (error instanceof DOMException && error.name === "TimeoutError") throw new Problem(0, "No answer", `The server did not answer within ${ANSWER_WITHIN_S} s; trying again.`);
    throw new Problem(0, "No connection", "The server does not answer; trying again.");
  }
  if (!answer.ok) throw await problemOf(answer, url);
  if (answer.status === 204) return null;
  const kind = answer.headers.get("Content-Type") ?? "";
  return kind.startsWith("application/json") ? answer.json() : answer.text();
}

/** @param {Response} answer @param {string} url */
async function problemOf(answer, url) {
  const document = await answer.json().catch(() => ({}));
  if (answer.status === 401 && !url.startsWith(`${API}/login`)) onLogout();
  return new Problem(answer.status, document.title ?? answer.statusText, document.detail ?? "", document.errors ?? []);
}
