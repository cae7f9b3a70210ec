// Numbers and words as people read them. The server's template filters say the same (kernelsite/catalog/templatetags/show.py).

export const DASH = "–";

export function speedup(value) {
  if (value === null || value === undefined) return DASH;
  if (value >= 100) return `${value.toFixed(0)}×`;
  return value >= 10 ? `${value.toFixed(1)}×` : `${value.toFixed(2)}×`;
}

export function interval(row) {
  if (!row || row.low === null || row.low === undefined || row.high === null || row.high === undefined) return "";
  return `${speedup(row.low).slice(0, -1)}–${speedup(row.high)}`;
}

export function microseconds(value) {
  if (value === null || value === undefined) return DASH;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} s`;
  if (value >= 1e3) return `${(value / 1e3).toPrecision(3)} ms`;
  return `${value.toPrecision(3)} µs`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

// Made once: `toLocaleTimeString` makes one for each call, which costs more than the rest of a row.
const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const clock = (date) => (Number.isNaN(date.getTime()) ? DASH : CLOCK.format(date));

export function knobs(values) {
  const words = Object.entries(values || {}).map(([name, value]) => `${name}=${value}`);
  return words.length ? words.join(" ") : "defaults";
}

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

// One vocabulary of states: word → icon and tone. Twin of kernelsite/catalog/templatetags/show.py.
const TONES = {
  draft: ["dot", "quiet"], queued: ["clock", "quiet"], running: ["spin", "go"], waiting: ["clock", "warn"], pausing: ["pause", "warn"],
  paused: ["pause", "warn"], stopping: ["stop", "warn"], stopped: ["stop", "quiet"], finished: ["check", "good"], failed: ["cross", "bad"],
  stale: ["alert", "odd"], draining: ["pause", "warn"], drained: ["pause", "warn"], proposed: ["dot", "quiet"], probing: ["spin", "go"], open: ["dot", "quiet"], retained: ["ring", "go"],
  tuning: ["spin", "go"], tuned: ["check", "good"], dropped: ["minus", "quiet"], done: ["check", "good"], lost: ["alert", "odd"],
  PASSED: ["check", "good"], UNTIMED: ["check", "warn"], UNSTABLE_TIMING: ["alert", "warn"], INFRA_ERROR: ["alert", "odd"],
};

export function tone(word) {
  return TONES[word] || (/^[A-Z_]+$/.test(word || "") ? ["cross", "bad"] : ["dot", "quiet"]);
}

// The state of a candidate's row in one word: where it is, or how it ended.
export const outcomeOf = (row) => row.status || row.state;
