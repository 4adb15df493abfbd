// The names of lit-html.js that the page uses, for the type check.
export type Template = {strings: TemplateStringsArray};
/** An event of an element in a template: whoever listens knows which element, and which event it is. */
export type TemplateEvent = InputEvent & PointerEvent & WheelEvent & KeyboardEvent & SubmitEvent & {target: HTMLInputElement; currentTarget: HTMLElement};
export type TemplateValue = {} | null | undefined | ((event: TemplateEvent) => unknown);
export const html: (strings: TemplateStringsArray, ...values: TemplateValue[]) => Template;
export const svg: (strings: TemplateStringsArray, ...values: TemplateValue[]) => Template;
export const nothing: unique symbol;
export const render: (value: unknown, container: HTMLElement | DocumentFragment) => unknown;
