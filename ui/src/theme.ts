/** Dark or light: as the system says, until the reader says otherwise. */

export function themeButton(): HTMLElement {
  const root = document.documentElement;
  const bar = document.createElement("div");
  bar.className = "keys theme";
  const button = document.createElement("button");
  button.type = "button";
  const dark = (): boolean => {
    const said = root.dataset["theme"];
    return said ? said === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = (): void => {
    button.textContent = dark() ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    root.dataset["theme"] = dark() ? "light" : "dark";
    name();
  });
  name();
  bar.append(button);
  return bar;
}
