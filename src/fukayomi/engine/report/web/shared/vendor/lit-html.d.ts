// The names of lit-html.js that the page uses, for the type check.
export type Template = {strings: TemplateStringsArray};
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => Template;
export const svg: (strings: TemplateStringsArray, ...values: unknown[]) => Template;
export const nothing: unique symbol;
export const render: (value: unknown, container: HTMLElement | DocumentFragment) => unknown;
