// The left rail folds to its icons; the choice is kept, and theme-early.js applies it before the first paint.
import { $, $$ } from "./dom.js";

const isFolded = () => document.documentElement.dataset.rail === "folded";

function show(button) {
  const folded = isFolded();
  button.setAttribute("aria-expanded", String(!folded));
  $("span", button).textContent = folded ? "Unfold" : "Fold";
  // Words that are not seen are told by the pointer.
  for (const place of $$(".rail a.place, .rail .rest button")) {
    if (folded) place.title = $("span", place).textContent;
    else place.removeAttribute("title");
  }
}

export function wireRail() {
  const button = $("#fold-rail");
  if (!button) return;
  button.addEventListener("click", () => {
    if (isFolded()) delete document.documentElement.dataset.rail;
    else document.documentElement.dataset.rail = "folded";
    try {
      localStorage.setItem("rail", isFolded() ? "folded" : "wide");
    } catch {
      // Then it holds for this page only.
    }
    show(button);
  });
  show(button);
}
