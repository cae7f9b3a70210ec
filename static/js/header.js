// Header of the live page: state, connection, best, counts, budget, clocks, and the three buttons.
import { $, $$, el, icon, setText } from "./dom.js";
import { clock, duration, interval, microseconds, speedup } from "./format.js";
import { isFinal } from "./live.js";
import { setPill } from "./pill.js";

const STATUS = {
  live: ["Live", "good"], catching: ["Catching up", "go"], reconnecting: ["Reconnecting", "warn"], polling: ["Polling", "warn"],
  finished: ["Finished", "quiet"], held: ["Paused by you", "warn"], refused: ["Signed out", "bad"], connecting: ["Connecting", "quiet"],
};
const ANNOUNCE_MS = 10_000;
const SILENCE_S = 180;

export class Header {
  constructor(root, store) {
    this.root = root;
    this.store = store;
    this.announced = 0;
    this.watchTop();
    store.subscribe(() => this.draw());
  }

  // A mark above the header says when the header is stuck; the gap keeps it from flickering as its height changes.
  watchTop() {
    const mark = el("div", { class: "head-mark", "aria-hidden": "true" });
    const head = $(".live-head", this.root);
    head.before(mark);
    new IntersectionObserver(([entry]) => head.classList.toggle("is-stuck", !entry.isIntersecting && entry.boundingClientRect.top < 0)).observe(mark);
  }

  // The connection pill is always there and says in words what the numbers are worth.
  status(status, detail) {
    const pill = $("[data-live-pill]", this.root);
    const [word, colour] = STATUS[status];
    let text = word;
    if (status === "catching") text = `Catching up (${detail})`;
    if (status === "reconnecting" || status === "refused") text = `${word} – data as of ${clock(new Date(detail))}`;
    pill.dataset.status = status;
    pill.className = `pill live-pill tone-${colour}`;
    pill.replaceChildren(icon(status === "live" ? "dot" : "signal"), text);
    this.root.classList.toggle("is-stale", status === "reconnecting" || status === "refused");
    this.announce(text);
  }

  announce(text) {
    const now = Date.now();
    if (now - this.announced < ANNOUNCE_MS) return;
    this.announced = now;
    setText($("[data-live-announce]", this.root), text);
  }

  draw() {
    const { search } = this.store;
    this.drawState(search);
    setText($("[data-stage]", this.root), search.stage);
    setText($("[data-reason]", this.root), search.reason || "");
    this.drawBest(search.best);
    for (const node of $$("[data-count]", this.root)) setText(node, String(search.counts[node.dataset.count] ?? 0));
    for (const item of $$("[data-budget]", this.root)) this.drawBudget(item, search.budget[item.dataset.budget]);
    this.drawButtons(search.state);
  }

  // A running search that tells nothing is not called running: what it does is not known.
  drawState(search, silence = 0) {
    const stale = search.state === "running" && silence > SILENCE_S;
    const words = search.wait_reason ? `${search.state}: ${search.wait_reason.replace("_", " ")}` : search.state;
    setPill($("[data-state]", this.root), stale ? "stale" : search.state, stale ? `stale: no event for ${duration(silence)}` : words);
    for (const reason of ["device", "review"]) $(`[data-waits-for-${reason}]`, this.root).hidden = !(search.state === "waiting" && search.wait_reason === reason);
  }

  drawBest(best) {
    const box = $("[data-best]", this.root);
    setText($("[data-best-speedup]", box), best ? speedup(best.speedup) : isFinal(this.store.search.state) ? "no result" : "no result yet");
    setText($("[data-best-interval]", box), best && interval(best) ? `95 % ${interval(best)}` : "");
    const link = $("[data-best-link]", box);
    link.hidden = !best;
    if (!best) return;
    setText(link, `C-${best.candidate}`);
    link.href = `/candidates/${best.candidate}/`;
    const kind = best.confirmed ? "confirmed at the full tier" : "not confirmed yet";
    setText($("[data-best-context]", box), `vs ${best.baseline} · ${microseconds(best.median_us)} · ${kind}`);
  }

  drawBudget(item, budget) {
    if (!budget) return;
    const seconds = item.dataset.budget !== "evaluations";
    const say = (value) => (seconds ? duration(value) : String(value));
    setText($("[data-spent]", item), budget.cap === null ? say(budget.spent) : `${say(budget.spent)} / ${say(budget.cap)}`);
    const meter = $("progress", item);
    if (budget.cap === null || !meter) return;
    meter.max = budget.cap;
    meter.value = Math.min(budget.spent, budget.cap);
  }

  drawButtons(state) {
    const allowed = { pause: ["queued", "running", "waiting"], resume: ["paused", "pausing"], stop: ["queued", "running", "waiting", "pausing", "paused"] };
    for (const form of $$("form[data-action]", this.root)) form.hidden = !allowed[form.dataset.action].includes(state);
  }

  // Runs each second; `now` is frozen by the caller while the connection is stale.
  tick(now) {
    const { search } = this.store;
    const over = isFinal(search.state);
    const started = search.started_at ? Date.parse(search.started_at) : null;
    const end = search.finished_at ? Date.parse(search.finished_at) : now;
    const wall = $('[data-budget="wall_seconds"]', this.root);
    const gate = search.gate_wait_s + (search.gate_since ? Math.max(0, (end - Date.parse(search.gate_since)) / 1000) : 0);
    if (started !== null) this.drawBudget(wall, { ...search.budget.wall_seconds, spent: Math.max(0, (end - started) / 1000 - gate) });
    const age = search.last_event_at ? Math.max(0, (now - Date.parse(search.last_event_at)) / 1000) : null;
    this.drawState(search, age ?? 0);
    setText($("[data-age]", this.root), over || age === null ? "" : `last event ${age < 60 ? `${Math.floor(age)} s` : duration(age)} ago`);
    const since = search.last_event_at ? now - Date.parse(search.last_event_at) : 0;
    const left = search.eta_s === null ? null : Math.max(0, search.eta_s - since / 1000);
    setText($("[data-eta]", this.root), over || left === null ? "" : `about ${duration(Math.round(left))} left`);
  }
}

// Pause and resume go by POST without leaving the page; stop asks first and repeats the facts.
export function wireButtons(root, store, say) {
  for (const form of $$("form[data-action]", root)) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (form.dataset.action === "stop" && !(await confirmStop(store.search))) return;
      const button = $("button", form);
      button.disabled = true;
      try {
        const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" } });
        if (!answer.ok) say(`That did not work: ${answer.status === 409 ? "the search has moved on" : `answer ${answer.status}`}.`);
      } catch {
        say("The server cannot be reached; nothing was changed.");
      } finally {
        button.disabled = false;
      }
    });
  }
}

function confirmStop(search) {
  const dialog = $("#confirm-stop");
  const { counts, budget } = search;
  $("[data-facts]", dialog).replaceChildren(
    el("p", {}, `${counts.running} evaluations are running and ${counts.queued} are queued; queued ones are dropped.`),
    el("p", {}, `${budget.evaluations.spent} of ${budget.evaluations.cap} evaluations and ${duration(budget.device_seconds.spent)} of device time are spent. What was found stays.`),
  );
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "stop"), { once: true });
    dialog.returnValue = "";
    dialog.showModal();
  });
}
