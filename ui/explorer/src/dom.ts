/**
 * Creation of DOM elements. Names of processes, devices and files come from outside: they enter the page
 * as text nodes and attribute values only, never as markup.
 */

type Child = Node | string | undefined | false;

export interface Properties {
  [name: string]: string | number | boolean | undefined | ((event: never) => void);
}

/** Creates an element. Functions among the properties (`onclick`) become event listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as unknown as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

export function button(
  text: string,
  onclick: (event: MouseEvent) => void,
  properties: Properties = {},
): HTMLButtonElement {
  return h("button", { type: "button", ...properties, onclick }, text);
}

/** Creates a group of buttons, one of which is pressed. */
export function buttonGroup<T extends string>(
  name: string,
  options: readonly [T, string][],
  selected: T,
  onSelect: (value: T) => void,
): HTMLElement {
  return h(
    "span",
    { role: "group", "aria-label": name, class: "choice" },
    ...options.map(([value, text]) =>
      button(text, () => onSelect(value), { "aria-pressed": String(value === selected), "data-value": value }),
    ),
  );
}

const SHOWN_MS = 5000;
let hideTimer = 0;

/** Shows a message at the foot of the page for a few seconds; screen readers read it aloud. */
export function announce(text: string): void {
  const status = document.getElementById("said");
  if (!status) return;
  status.textContent = text;
  window.clearTimeout(hideTimer);
  hideTimer = window.setTimeout(() => (status.textContent = ""), SHOWN_MS);
}

/** Offers a file for download. */
export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function isDark(): boolean {
  const theme = document.documentElement.dataset["theme"];
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Returns a color of the style sheet by the name of its custom property. */
export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#222222";
}

export function isNarrow(): boolean {
  return window.innerWidth < 640;
}
