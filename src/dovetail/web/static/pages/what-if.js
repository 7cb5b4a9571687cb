/** What if: a change on the left, what would be different on the right. It runs on a copy; nothing is changed. */
import { html } from "../core/view.js";
import { get } from "../core/api.js";
import { definePage } from "../core/page.js";
import "../parts/what_if_form.js";

/** @typedef {import("../types").Schemas["Profiles"]} Profiles */

export default definePage({
  title: () => "What-if",
  load: ({ signal }) => get("/profiles", {}, signal),
  view: (/** @type {Profiles} */ data, { route }) => html`<h1>What-if</h1>
    <p class="lead">A copy of the cluster goes on twice, as it is and with your change. Nothing is changed.</p>
    <what-if-form .profiles=${data.profiles.map((one) => one.name)} .current=${data.default} .query=${route.query}></what-if-form>`,
});
