// Structure and candidate pages: copying code without line numbers, forms that send themselves, marks that open a page, charts as files.
import { $$ } from "./dom.js";
import { wireExports } from "./exports.js";
import { toast } from "./site.js";

async function copyCode(button) {
  const text = $$("td.text", button.closest("section")).map((cell) => cell.textContent).join("\n");
  try {
    await navigator.clipboard.writeText(`${text}\n`);
    toast("Copied.");
  } catch {
    toast("The browser does not allow copying here; use the download instead.");
  }
}

for (const button of $$("[data-copy-code]")) button.addEventListener("click", () => copyCode(button));
for (const choice of $$("[data-autosubmit]")) choice.addEventListener("change", () => choice.form.requestSubmit());
for (const mark of $$("[data-open]")) mark.addEventListener("click", () => { location.href = mark.dataset.open; });
wireExports();
