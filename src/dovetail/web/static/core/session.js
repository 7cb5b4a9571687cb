/** Who is logged in here, as the server says. */
import { get, send, useCsrf } from "./api.js";

/** @typedef {import("../types").Schemas["WebSession"]} WebSession */

/** @type {WebSession | null} */
let current = null;

export const session = () => current;

/** The session of this browser; null if it has none. Throws if the server cannot be reached.
 * @returns {Promise<WebSession | null>} */
export async function findSession() {
  const found = await get("/login");
  return found === null ? (current = null) : begin(found);
}

/** @param {string} token of a link, or the admin token */
export const logIn = async (token) => begin(await send("POST", "/login", { token }));

export async function logOut() {
  await send("DELETE", "/login");
  current = null;
  useCsrf("");
}

/** @param {WebSession} found */
function begin(found) {
  current = found;
  useCsrf(found.csrf);
  return found;
}
