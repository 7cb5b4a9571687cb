/** The fields of a definition, as the server describes them (OpenAPI), for completion. */

/** @typedef {{name: string, about: string, isBlock: boolean}} Choice what could stand here */
/** @typedef {Record<string, any>} Schema */

/** @type {Promise<Record<string, Schema>> | null} */
let asked = null;

/** Asked for once, when somebody begins to write. @returns {Promise<Record<string, Schema>>} */
export function schemas() {
  asked ??= fetch("/openapi.json", { credentials: "same-origin" }).then((answer) => answer.json()).then((document) => document.components.schemas).catch(() => ({}));
  return asked;
}

/** @param {Record<string, Schema>} all @param {Schema | undefined} schema @returns {Schema[]} what it may be */
function variants(all, schema) {
  if (!schema) return [];
  if (schema.$ref) return variants(all, all[schema.$ref.split("/").at(-1)]);
  const several = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  return several ? several.flatMap((/** @type {Schema} */ one) => variants(all, one)) : [schema];
}

/** What may stand below a path of keys; lists are stepped over. @param {Record<string, Schema>} all @param {string} root @param {string[]} path @returns {Choice[]} */
export function fieldsAt(all, root, path) {
  let here = variants(all, all[root]);
  for (const key of path) here = here.flatMap((one) => variants(all, one.properties?.[key])).flatMap((one) => (one.items ? variants(all, one.items) : [one]));
  return here.flatMap((one) =>
    Object.entries(one.properties ?? {}).map(([name, field]) => {
      const kinds = variants(all, field);
      const about = String(field.description ?? kinds.find((kind) => kind.description)?.description ?? "").split("\n")[0];
      return { name, about, isBlock: kinds.some((kind) => kind.properties !== undefined) };
    }),
  );
}

/** The words that a field accepts. @param {Record<string, Schema>} all @param {string} root @param {string[]} path @returns {Choice[]} */
export function valuesAt(all, root, path) {
  const key = path.at(-1) ?? "";
  let here = variants(all, all[root]);
  for (const step of path.slice(0, -1)) here = here.flatMap((one) => variants(all, one.properties?.[step])).flatMap((one) => (one.items ? variants(all, one.items) : [one]));
  const kinds = here.flatMap((one) => variants(all, one.properties?.[key]));
  const words = kinds.flatMap((one) => one.enum ?? (one.type === "boolean" ? ["true", "false"] : []));
  return words.map((/** @type {string} */ name) => ({ name: String(name), about: "", isBlock: false }));
}
