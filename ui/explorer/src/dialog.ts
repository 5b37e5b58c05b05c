/** Dialogs: a command to copy, a workload file, the help. */
import { announce, button, h, download } from "./dom";

/** Opens a modal dialog. Esc closes it and returns the focus. */
export function showDialog(title: string, ...content: Node[]): HTMLDialogElement {
  const close = button("Close", () => element.close());
  const element = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content);
  element.addEventListener("close", () => element.remove());
  element.addEventListener("click", (event) => event.target === element && element.close());
  document.body.append(element);
  element.showModal();
  return element;
}

/** Opens a dialog with a text to copy, and to save if `file` is given. */
export function showTextDialog(
  title: string,
  text: string,
  description: string,
  file?: { name: string; type: string },
): void {
  const status = h("p", { role: "status", class: "quiet" }, description);
  const copyButton = button("Copy", () => void copyText(text, status));
  const saveButton = file
    ? button("Save", () => download(file.name, new Blob([text], { type: file.type })))
    : undefined;
  showDialog(
    title,
    status,
    h("pre", { tabindex: 0 }, text),
    h("div", { class: "tools" }, copyButton, ...(saveButton ? [saveButton] : [])),
  );
}

async function copyText(text: string, status: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = "Copied.";
  } catch {
    status.textContent = "The browser does not allow copying here. Select the text and copy it.";
  }
  announce(status.textContent);
}

const KEYS: readonly (readonly [string, string])[] = [
  ["Drag over a drawing", "show this part of the time in every drawing"],
  ["Click a name or an area", "keep only this stream or process; click again to remove the filter"],
  ["Shift-click a name", "compare with this stream, process, capture or run"],
  ["Esc", "back to what was shown before"],
  ["← →", "move the shown part (also in the overview, with Tab)"],
  ["+ −, ↑ ↓ in the overview", "narrower, wider"],
  ["Home", "the whole time"],
  ["S", "the slowest minute"],
  ["B", "the busiest minute"],
  ["M", "IOPS or MB/s"],
  ["P", "by stream or by process"],
  ["?", "this help"],
];

export function showHelp(exported: boolean): void {
  if (document.querySelector("dialog[open]")) return;
  const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, what)));
  const footer = exported
    ? "This page was exported: its numbers are inside, and it needs no program. It cannot filter, compare, recount a part or list single I/Os."
    : "Everything that is shown is in the address: copy it to return to the same view. Nothing here changes a file or a device.";
  showDialog("Help", h("table", {}, h("tbody", {}, ...rows)), h("p", {}, footer));
}
