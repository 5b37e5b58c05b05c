/** The button for dark and light colors. The system's setting holds until the reader presses it. */

export function themeButton(): HTMLElement {
  const root = document.documentElement;
  const bar = document.createElement("div");
  bar.className = "keys theme";
  const button = document.createElement("button");
  button.type = "button";
  const isDark = (): boolean => {
    const chosen = root.dataset["theme"];
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const updateLabel = (): void => {
    button.textContent = isDark() ? "Light" : "Dark";
  };
  button.addEventListener("click", () => {
    root.dataset["theme"] = isDark() ? "light" : "dark";
    updateLabel();
  });
  updateLabel();
  bar.append(button);
  return bar;
}
