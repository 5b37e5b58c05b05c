/** Words over the page: a command to copy, a workload, the help. */
import { announce, button, h, save } from "./dom";

/** A dialog that Esc closes; focus returns to where it was. */
export function dialog(title: string, ...content: Node[]): HTMLDialogElement {
  const close = button("Close", () => made.close());
  const made = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content);
  made.addEventListener("close", () => made.remove());
  made.addEventListener("click", (event) => event.target === made && made.close());
  document.body.append(made);
  made.showModal();
  return made;
}

/** A text to read, copy and keep. */
export function textDialog(title: string, text: string, words: string, file?: { name: string; type: string }): void {
  const note = h("p", { role: "status", class: "quiet" }, words);
  const copy = button("Copy", () => void copied(text, note));
  const keep = file ? button("Save", () => save(file.name, new Blob([text], { type: file.type }))) : undefined;
  dialog(title, note, h("pre", { tabindex: 0 }, text), h("div", { class: "tools" }, copy, ...(keep ? [keep] : [])));
}

async function copied(text: string, note: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    note.textContent = "Copied.";
  } catch {
    note.textContent = "The browser does not allow copying here. Select the text and copy it.";
  }
  announce(note.textContent);
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

export function help(exported: boolean): void {
  if (document.querySelector("dialog[open]")) return;
  const rows = KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, what)));
  const words = exported
    ? "This page was exported: its numbers are inside, and it needs no program. It cannot filter, compare, count a part again or list single I/Os."
    : "Everything that is shown is in the address: copy it to return to the same view. Nothing here changes a file or a device.";
  dialog("Help", h("table", {}, h("tbody", {}, ...rows)), h("p", {}, words));
}
