// Parts of a page that follow the server: the page is fetched again every few seconds, and what changed is swapped.
// While the server does not answer, the parts say since when they are old. A part that the server no longer marks is done.
import { $, $$, el, icon } from "./dom.js";
import { clock } from "./format.js";

const parts = $$("[data-refresh]");
const period = Math.min(...parts.map((part) => Number(part.dataset.refresh)));
let seen = new Date();
let timer = 0;

function swap(part, page) {
  const fresh = $(`#${part.id}`, page);
  if (!fresh || part.contains(document.activeElement)) return;
  if (!fresh.dataset.refresh) delete part.dataset.refresh;
  if (fresh.innerHTML === part.dataset.last) return;
  part.dataset.last = fresh.innerHTML;
  part.replaceChildren(...fresh.childNodes);
}

function stale() {
  const note = el("p", { class: "note-box tone-warn", id: "stale-note", role: "status" }, icon("alert"), `Not live: data as of ${clock(seen)}. Trying again.`);
  if (!$("#stale-note")) parts[0].before(note);
}

async function refresh() {
  if (document.visibilityState !== "visible") return;
  try {
    const answer = await fetch(location.href, { headers: { "X-Requested-With": "refresh" } });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) swap(part, page);
    seen = new Date();
    $("#stale-note")?.remove();
  } catch {
    stale();
  }
  if (!parts.some((part) => part.dataset.refresh)) clearInterval(timer);
}

if (parts.length) {
  for (const part of parts) part.dataset.last = part.innerHTML;
  timer = setInterval(refresh, period * 1000);
}
for (const select of $$("[data-submit]")) select.addEventListener("change", () => select.form.submit());
