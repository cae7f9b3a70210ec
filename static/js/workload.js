// The texts of a workload draft: checked by the server while somebody writes; a problem leads to its line.

const form = document.querySelector("#texts");
const place = document.querySelector("#check");
const texts = [...document.querySelectorAll("textarea.source")];
const before = texts.map((text) => text.value);
let leaving = false;
let timer = 0;
let asked = 0;

function select(text, line) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] || "").length);
  text.scrollTop = (text.scrollHeight / Math.max(lines.length, 1)) * Math.max(line - 4, 0);
}

async function check() {
  const mine = ++asked;
  try {
    const answer = await fetch(form.dataset.check, { method: "POST", body: new FormData(form), headers: { "X-Requested-With": "check" } });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine === asked) place.replaceChildren(...page.body.childNodes);
  } catch {
    // What was found last stays, dimmed: the next key asks again, and saving checks as well.
  }
}

function later() {
  place.firstElementChild?.setAttribute("data-old", "");
  clearTimeout(timer);
  timer = setTimeout(check, 500);
}

if (form) {
  for (const text of texts.filter((one) => !one.readOnly)) {
    text.addEventListener("input", later);
    text.addEventListener("keydown", (event) => {
      if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        form.requestSubmit(form.querySelector("[value=save]"));
      }
    });
  }
  place.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-text]");
    if (!link) return;
    event.preventDefault();
    select(document.getElementById(link.dataset.text), Number(link.dataset.line || 1));
  });
  form.addEventListener("submit", () => { leaving = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && texts.some((text, index) => text.value !== before[index])) event.preventDefault();
  });
}
