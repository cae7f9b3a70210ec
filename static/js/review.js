// Page of a review: a line's number opens a comment on it; a and r go to Approve and Request changes.
import { $, $$ } from "./dom.js";
import { onKey } from "./keys.js";

function commentOn(link) {
  const section = link.closest("[data-path]");
  const line = $("#line");
  if (!line) return false;
  $("#path").value = section.dataset.path;
  line.value = link.dataset.comment;
  $(".on-line").open = true;
  for (const row of $$("tr.is-chosen")) row.classList.remove("is-chosen");
  link.closest("tr").classList.add("is-chosen");
  $("#say").scrollIntoView({ block: "nearest" });
  $("#text").focus();
  return true;
}

for (const link of $$("[data-comment]")) {
  link.addEventListener("click", (event) => { if (commentOn(link)) event.preventDefault(); });
}
// They take the focus and send nothing: a decision is made by a key press of its own.
for (const button of $$("[data-focus-key]")) {
  onKey(button.dataset.focusKey, () => {
    button.scrollIntoView({ block: "nearest" });
    (button.disabled ? $("#gates") : button).focus();
  });
}
