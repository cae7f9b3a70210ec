// Runs before the first paint: neither the chosen theme nor a folded rail may flash.
(() => {
  let theme = null;
  let rail = null;
  try {
    theme = localStorage.getItem("theme");
    rail = localStorage.getItem("rail");
  } catch {
    // Storage may be forbidden; the system's theme and a wide rail are then right.
  }
  if (rail === "folded") document.documentElement.dataset.rail = rail;
  // What was chosen in this browser goes before what the profile says.
  if (theme === "system") delete document.documentElement.dataset.theme;
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  document.documentElement.classList.add("js");
})();
