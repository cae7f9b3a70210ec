// Launch form: presets, a summary that follows the fields, the same thing as a command line.
import { $, $$, readJson, setText } from "./dom.js";
import { duration, plural } from "./format.js";

const form = $("#launch");
const facts = readJson("facts");
const presets = readJson("presets");

const value = (name) => form.elements[name].value;

// Number of seeds in "0 1 2" or "0-5"; null while it is not readable.
function seeds(text) {
  let count = 0;
  for (const word of text.trim().split(/[\s,;]+/)) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(word);
    if (!match) return null;
    count += Number(match[2] ?? match[1]) - Number(match[1]) + 1;
  }
  return count > 0 ? count : null;
}

function estimate(total) {
  const slug = facts.workloads[value("workload")];
  const device = value("device_class");
  const pace = facts.paces[slug]?.[device];
  if (!pace) return `no evaluation of ${slug} on ${device} was measured here yet, so there is no estimate`;
  return `about ${duration(Math.round(pace.low_s * total))} to ${duration(Math.round(pace.high_s * total))} of one device, from ${pace.evaluations} measured evaluations (median ${duration(pace.median_s)})`;
}

function summarise() {
  const mode = value("mode");
  const count = seeds(value("seeds"));
  const evaluations = Number(value("evaluations"));
  const arms = mode === "compare" ? facts.arms : 1;
  const device = value("device_class");
  setText($("[data-language]"), { cpp: "C++ with OpenMP", triton: "Triton" }[facts.languages[device]] || facts.languages[device]);
  if (count === null || !(evaluations > 0)) {
    for (const name of ["searches", "evaluations", "duration"]) setText($(`[data-summary="${name}"]`), "–");
    return;
  }
  const total = arms * count * evaluations;
  setText($('[data-summary="searches"]'), arms * count === 1 ? "1" : `${arms * count} (${plural(arms, "strategy", "strategies")} × ${plural(count, "seed")})`);
  setText($('[data-summary="evaluations"]'), arms * count === 1 ? String(total) : `${total}, ${evaluations} each`);
  setText($('[data-summary="duration"]'), estimate(total));
  setText($("#cli"), `python manage.py run_search --workload ${facts.workloads[value("workload")]} --strategy ${mode === "compare" ? "two_stage" : mode} --device ${device} --budget ${evaluations} --seed ${value("seeds").trim().split(/\D/)[0]} --json`);
  $("[data-cli-box]").hidden = false;
}

for (const button of $$("[data-preset]")) {
  button.addEventListener("click", () => {
    for (const [name, preset] of Object.entries(presets[Number(button.dataset.preset)].values)) form.elements[name].value = preset;
    for (const other of $$("[data-preset]")) other.setAttribute("aria-pressed", String(other === button));
    summarise();
  });
}
form.addEventListener("input", summarise);
form.addEventListener("submit", () => { $("button[type=submit]", form).disabled = true; });
addEventListener("pageshow", () => { $("button[type=submit]", form).disabled = false; });
$("#problems")?.focus();
summarise();
