// The preview follows the form; without scripts the button does the same.
import { $ } from "./dom.js";

const form = $("#share-form");
let asked = 0;

async function preview() {
  const words = new URLSearchParams(new FormData(form));
  words.delete("csrfmiddlewaretoken");
  const mine = (asked += 1);
  const answer = await fetch(`${form.dataset.preview}?${words}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== asked || !$("#preview", page)) return;
  for (const name of ["#preview", "#listed"]) $(name).replaceChildren(...$(name, page).childNodes);
}

$("#preview-button").hidden = true;
form.addEventListener("change", preview);
