// What of lit-html is used here. Its own declarations are not needed to run it.
export interface TemplateResult { readonly _$litType$: number }
export type Rendered = TemplateResult | string | number | typeof nothing | null | undefined | Iterable<Rendered> | object;
export function html(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult;
export function svg(strings: TemplateStringsArray, ...values: unknown[]): TemplateResult;
export function render(value: unknown, container: Element | DocumentFragment): unknown;
export const nothing: unique symbol;
