// Parts of a page that follow the server: fetched again every few seconds and swapped when they changed.
import { $, $$ } from "./dom.js";

async function refresh(part) {
  if (document.visibilityState !== "visible" || part.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { headers: { "X-Requested-With": "refresh" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = $(`#${part.id}`, page);
  if (fresh && fresh.innerHTML !== part.dataset.last) {
    part.dataset.last = fresh.innerHTML;
    part.replaceChildren(...fresh.childNodes);
  }
}

for (const part of $$("[data-refresh]")) {
  part.dataset.last = part.innerHTML;
  setInterval(() => refresh(part).catch(() => { /* offline: the next turn tries again */ }), Number(part.dataset.refresh) * 1000);
}
for (const select of $$("[data-submit]")) select.addEventListener("change", () => select.form.submit());
