// What a person chose lives in the query string, so that a copied address shows the same view. An address that has grown
// too long for mails and chats is kept by the server, and `?saved=<key>` stands for it.
import { $ } from "./dom.js";

const LONGEST = 1500;
const REST_MS = 600;

const query = new URLSearchParams(location.search);
let timer = 0;

export const get = (name, fallback = "") => query.get(name) ?? fallback;

export const text = () => query.toString();

export function set(name, value) {
  if (value === null || value === undefined || value === "") query.delete(name);
  else query.set(name, value);
  show(text());
  clearTimeout(timer);
  if (text().length > LONGEST) timer = setTimeout(() => shorten(text()), REST_MS);
}

function show(words) {
  history.replaceState(history.state, "", `${location.pathname}${words ? `?${words}` : ""}${location.hash}`);
}

// The long address stays while the server does not answer; it says the same.
async function shorten(words) {
  const body = new FormData();
  body.set("path", location.pathname);
  body.set("query", words);
  body.set("csrfmiddlewaretoken", $("input[name=csrfmiddlewaretoken]")?.value || "");
  try {
    const answer = await fetch("/views/", { method: "POST", body, headers: { Accept: "application/json" } });
    if (answer.ok && words === text()) show(`saved=${(await answer.json()).key}`);
  } catch {
    // Offline: as above.
  }
}

if (text().length > LONGEST) timer = setTimeout(() => shorten(text()), REST_MS);
