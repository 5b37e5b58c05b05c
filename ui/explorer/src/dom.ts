/**
 * Elements. Names of processes, devices and files are data: they enter the page as text nodes and
 * attribute values only, never as markup.
 */

type Child = Node | string | undefined | false;

export interface Properties {
  [name: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** An element with attributes; `onclick` and its like are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value as unknown as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return made;
}

export function button(text: string, onclick: (event: MouseEvent) => void, properties: Properties = {}): HTMLButtonElement {
  return h("button", { type: "button", ...properties, onclick }, text);
}

/** A group of which one is pressed. */
export function choice<T extends string>(name: string, options: readonly [T, string][], now: T, chosen: (value: T) => void): HTMLElement {
  return h("span", { role: "group", "aria-label": name, class: "choice" },
    ...options.map(([value, text]) => button(text, () => chosen(value), { "aria-pressed": String(value === now), "data-value": value })));
}

const SHOWN_MS = 5000;
let silence = 0;

/** Words at the foot of the page for a few seconds, for the eye and for a screen reader. */
export function announce(text: string): void {
  const place = document.getElementById("said");
  if (!place) return;
  place.textContent = text;
  window.clearTimeout(silence);
  silence = window.setTimeout(() => (place.textContent = ""), SHOWN_MS);
}

/** A file for the user, made here. */
export function save(name: string, blob: Blob): void {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function dark(): boolean {
  const said = document.documentElement.dataset["theme"];
  return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** A color of the style sheet. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#222222";
}

export function narrow(): boolean {
  return window.innerWidth < 640;
}
