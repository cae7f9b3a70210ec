// Text of a library file: a problem leads to its line, and unsaved text is not left by accident.

const text = document.querySelector("textarea.yaml");
const before = text?.value;
let leaving = false;

function select(line) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] || "").length);
  text.scrollTop = (text.scrollHeight / Math.max(lines.length, 1)) * Math.max(line - 4, 0);
}

if (text) {
  const here = new URL(location.href).searchParams.get("name");
  for (const link of document.querySelectorAll("a[data-line]")) {
    if (new URL(link.href).searchParams.get("name") !== here) continue;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      select(Number(link.dataset.line));
    });
  }
  text.form.addEventListener("submit", () => { leaving = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && text.value !== before) event.preventDefault();
  });
}
