// A notice counts as read once its thing is opened; without this there is the button beside it.
import { $$ } from "./dom.js";

const token = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value;

function read(receipt) {
  const body = new URLSearchParams({ receipt, csrfmiddlewaretoken: token() });
  // Lives on while the browser leaves the page.
  fetch("/notices/read", { method: "POST", body, headers: { Accept: "application/json" }, keepalive: true }).catch(() => {});
}

for (const link of $$(".unread a[data-receipt]")) {
  for (const kind of ["click", "auxclick"]) link.addEventListener(kind, () => read(link.dataset.receipt));
}
