// Launch form: presets, a summary that follows the fields, the same thing as a command line.
import { $, $$, readJson, setText } from "./dom.js";
import { duration, plural } from "./format.js";

const form = $("#launch");
const facts = readJson("facts");
const presets = readJson("presets");
const models = readJson("model-facts");

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

// What a launch finds before it; evaluations are taken in the order they were queued, whoever asked.
function queue(device) {
  const { searches, queued } = facts.queues[device] ?? { searches: 0, queued: 0 };
  if (!searches && !queued) return `nothing else runs on ${device}`;
  return `${plural(searches, "search", "searches")} on ${device} now, which this one shares with; ${plural(queued, "evaluation")} queued before its first`;
}

const usd = (amount) => `$${amount < 0.1 ? amount.toPrecision(2) : amount.toFixed(2)}`;
const count = (number) => Math.round(number).toLocaleString("en");

// What the chosen models may take: from past steps where there are any, else the ceiling of calls.
function spending(searches, evaluations) {
  const chosen = models.filter((model) => $(`[name="models"][value="${model.id}"]`, form)?.checked);
  const hosts = [...new Set(chosen.map((model) => model.host))].join(", ");
  if (!chosen.length) return "choose a model";
  const caps = [];
  if (Number(value("tokens")) > 0) caps.push(`${count(searches * value("tokens"))} tokens`);
  if (Number(value("cost_usd")) > 0) caps.push(usd(searches * value("cost_usd")));
  const most = caps.length ? `at most ${caps.join(" or ")} in all` : "give a cap on tokens or money";
  const dearest = chosen.reduce((left, right) => (right.ceiling_tokens > left.ceiling_tokens ? right : left));
  const call = `one call takes up to ${count(dearest.ceiling_tokens)} tokens${dearest.ceiling_usd === null ? "" : `, ${usd(dearest.ceiling_usd)}`}`;
  const known = chosen.filter((model) => model.step_tokens !== null);
  if (!known.length || known[0].steps_per_evaluation === null) return `${most}; ${call}. To ${hosts}. No search with a model has finished here, so there is no estimate`;
  const steps = searches * evaluations * known[0].steps_per_evaluation;
  const mean = (name) => known.reduce((sum, model) => sum + model[name], 0) / known.length;
  const money = known.every((model) => model.ceiling_usd !== null) ? `, ${usd(steps * mean("step_usd"))}` : "";
  return `about ${count(steps * mean("step_tokens"))} tokens${money} in ${count(steps)} steps, as past searches went; ${most}; ${call}. To ${hosts}`;
}

function showAgent() {
  const agent = value("agent");
  for (const part of $$("[data-for-agent]")) part.hidden = !part.dataset.forAgent.split(" ").includes(agent || "playbook");
}

// Options of the command line that the agent needs.
function agentWords() {
  if (value("agent") === "replay" && value("transcript").startsWith("shipped:")) return ` --agent replay --transcript ${value("transcript").slice(8)}`;
  return "";
}

function summarise() {
  showAgent();
  const mode = value("mode");
  const seedCount = seeds(value("seeds"));
  const evaluations = Number(value("evaluations"));
  const arms = mode === "compare" ? facts.arms : 1;
  const device = value("device_class");
  setText($("[data-language]"), { cpp: "C++ with OpenMP", triton: "Triton" }[facts.languages[device]] || facts.languages[device]);
  if (seedCount === null || !(evaluations > 0)) {
    for (const name of ["searches", "evaluations", "duration"]) setText($(`[data-summary="${name}"]`), "–");
    return;
  }
  const total = arms * seedCount * evaluations;
  setText($('[data-summary="searches"]'), arms * seedCount === 1 ? "1" : `${arms * seedCount} (${plural(arms, "strategy", "strategies")} × ${plural(seedCount, "seed")})`);
  setText($('[data-summary="evaluations"]'), arms * seedCount === 1 ? String(total) : `${total}, ${evaluations} each`);
  setText($('[data-summary="duration"]'), estimate(total));
  setText($('[data-summary="queue"]'), queue(device));
  setText($('[data-summary="calls"]'), spending(arms * seedCount, evaluations));
  setText($("#cli"), `python manage.py run_search --workload ${facts.workloads[value("workload")]} --strategy ${mode === "compare" ? "two_stage" : mode} --device ${device} --budget ${evaluations} --seed ${value("seeds").trim().split(/\D/)[0]}${agentWords()} --json`);
  // A model's key is not for a command line that is shown, and programs of the team are in no file there.
  $("[data-cli-box]").hidden = value("agent") === "llm" || value("transcript").startsWith("search:") || Boolean($("[name=starting]:checked", form));
}

for (const button of $$("[data-preset]")) {
  button.addEventListener("click", () => {
    for (const [name, preset] of Object.entries(presets[Number(button.dataset.preset)].values)) form.elements[name].value = preset;
    for (const other of $$("[data-preset]")) other.setAttribute("aria-pressed", String(other === button));
    summarise();
  });
}
form.addEventListener("input", summarise);
// A document that is saved leaves the page where it is, with nothing launched.
form.addEventListener("submit", (event) => { if (event.submitter?.name !== "as") $("[data-launch]", form).disabled = true; });
addEventListener("pageshow", () => { $("[data-launch]", form).disabled = false; });
$("#problems")?.focus();
summarise();
