/** Light or dark: as the system says, unless the visitor chose. */

const KEY = "dovetail-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const isDark = () => document.documentElement.dataset.theme === "dark";

function apply() {
  const chosen = localStorage.getItem(KEY);
  document.documentElement.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
  dispatchEvent(new Event("themechange"));
}

export function switchTheme() {
  localStorage.setItem(KEY, isDark() ? "light" : "dark");
  apply();
}

export function beginTheme() {
  system.addEventListener("change", apply);
  apply();
}

/** The value of a colour in use, for a canvas. @param {string} name such as `--accent` */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
