// System, light or dark; charts hear of it by "themechange".
import { $$ } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const tell = () => dispatchEvent(new Event("themechange"));

function choose(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Then it holds for this page only.
  }
  show();
  tell();
}

function show() {
  const theme = document.documentElement.dataset.theme || "system";
  for (const button of $$("button[data-theme-choice]")) button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
}

export function wireTheme() {
  for (const button of $$("[data-theme-choice]")) button.addEventListener("click", () => choose(button.dataset.themeChoice));
  dark.addEventListener("change", tell);
  show();
}
