// Keeps a store equal to the server: socket first, polling when that fails, snapshot when in doubt.
// Frames and rules: "Live protocol" of the documentation. Events carry numbers 1..n; a gap is asked for again.

const WATCHDOG_MS = 40_000;
const STABLE_MS = 30_000;
const POLL_MS = 5_000;
const FIRST_DELAY_MS = 500;
const LAST_DELAY_MS = 30_000;

export const isFinal = (state) => ["stopped", "finished", "failed"].includes(state);

export class Live {
  // urls: {socket, events, snapshot}; onStatus(word, detail) is called whenever the connection's word changes.
  constructor(store, urls, onStatus) {
    this.store = store;
    this.urls = urls;
    this.onStatus = onStatus;
    this.failures = 0;
    this.gaps = [];
    this.lastFrame = Date.now();
    this.offset = 0;
    this.over = false;
    this.setClock(store.serverTime);
  }

  start() {
    if (isFinal(this.store.search.state)) return this.finish();
    this.connect();
    this.watchdog = setInterval(() => this.watch(), 5_000);
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.watch());
    addEventListener("online", () => this.retryNow());
    return undefined;
  }

  // Server's clock in ms; frozen at the last frame while the connection is stale.
  now() {
    return (this.isStale ? this.lastFrame : Date.now()) + this.offset;
  }

  setClock(serverTime) {
    if (serverTime) this.offset = Date.parse(serverTime) - Date.now();
  }

  say(status, detail = "") {
    this.status = status;
    this.isStale = status === "reconnecting" || status === "refused";
    this.onStatus(status, detail);
  }

  connect() {
    clearTimeout(this.retry);
    const { socket } = this.urls;
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const ws = new WebSocket(`${scheme}//${location.host}${socket}?after=${this.store.seq}&epoch=${this.store.epoch}`);
    this.ws = ws;
    ws.onmessage = (message) => this.ws === ws && this.receive(JSON.parse(message.data));
    ws.onclose = (event) => this.ws === ws && this.lost(event.code);
  }

  receive(frame) {
    this.lastFrame = Date.now();
    this.setClock(frame.server_time);
    const take = { hello: () => this.hello(frame), delta: () => this.delta(frame), hb: () => this.beat(frame),
      resync: () => this.resync(), ctl: () => this.control(frame) }[frame.t];
    if (take) take();
  }

  hello(frame) {
    this.stopPolling();
    this.stable = setTimeout(() => { this.failures = 0; }, STABLE_MS);
    if (frame.epoch !== this.store.epoch || frame.seq < this.store.seq) this.resync();
    else this.settle(frame.seq);
  }

  delta(frame) {
    if (!this.store.apply(frame.events)) return this.gap();
    return this.settle(this.store.seq);
  }

  beat(frame) {
    if (frame.seq > this.store.seq) this.sync();
    this.settle(frame.seq);
  }

  settle(seq) {
    const behind = seq - this.store.seq;
    if (behind > 0) this.say("catching", String(behind));
    else this.say("live");
  }

  gap() {
    const now = Date.now();
    this.gaps = [...this.gaps.filter((at) => now - at < 10_000), now];
    if (this.gaps.length >= 3) this.resync();
    else this.sync();
  }

  sync() {
    if (this.ws?.readyState === WebSocket.OPEN) this.ws.send(JSON.stringify({ t: "sync", after: this.store.seq, epoch: this.store.epoch }));
  }

  control(frame) {
    if (frame.action === "reload") this.resync();
    else if (frame.action === "finished") this.resync().then(() => this.finish());
    else if (frame.action === "revoked") this.refuse();
  }

  // The whole state again over HTTP. One at a time; the socket goes on from the new number.
  async resync() {
    if (this.resyncing) return;
    this.resyncing = true;
    try {
      const answer = await fetch(this.urls.snapshot, { headers: { Accept: "application/json" }, cache: "no-cache" });
      if (answer.status === 403 || answer.status === 404 || answer.redirected) return this.refuse();
      if (!answer.ok) return;
      const snapshot = await answer.json();
      if (snapshot.epoch !== this.store.epoch || snapshot.seq > this.store.seq) this.store.load(snapshot);
      this.gaps = [];
      this.setClock(snapshot.server_time);
      if (this.ws?.readyState === WebSocket.OPEN) this.say("live");
      this.sync();
    } catch {
      // Offline: the next frame, poll or reconnect tries again.
    } finally {
      this.resyncing = false;
    }
  }

  lost(code) {
    this.ws = null;
    clearTimeout(this.stable);
    if (this.over) return;
    if (code === 4401 || code === 4403) { this.refuse(); return; }
    this.failures += 1;
    if (this.failures >= 3) this.poll();
    else this.say("reconnecting", new Date(this.lastFrame + this.offset).toISOString());
    const delay = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.failures - 1)) * (0.7 + 0.6 * Math.random());
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.connect(), delay);
  }

  // A half-open socket stays OPEN for ever; silence is the only sign.
  watch() {
    if (this.over || Date.now() - this.lastFrame < WATCHDOG_MS || !this.ws) return;
    const ws = this.ws;
    this.ws = null;
    ws.close();
    this.lastFrame = Date.now();
    this.lost(0);
  }

  retryNow() {
    if (!this.over && !this.ws) this.connect();
  }

  poll() {
    if (this.polling) return;
    const tick = async () => {
      try {
        const answer = await fetch(`${this.urls.events}?after=${this.store.seq}&epoch=${this.store.epoch}`, { headers: { Accept: "application/json" } });
        if (!this.polling) return;
        if (answer.status === 403 || answer.status === 404 || answer.redirected) { this.refuse(); return; }
        if (answer.ok) await this.polled(await answer.json());
      } catch {
        this.say("reconnecting", new Date(this.lastFrame + this.offset).toISOString());
      }
      if (this.polling) this.polling = setTimeout(tick, POLL_MS);
    };
    this.polling = setTimeout(tick, 0);
  }

  async polled(body) {
    this.lastFrame = Date.now();
    this.setClock(body.server_time);
    if (body.t === "resync" || body.epoch !== this.store.epoch || !this.store.apply(body.events || [])) await this.resync();
    if (isFinal(this.store.search.state)) this.finish();
    else this.say("polling");
  }

  stopPolling() {
    clearTimeout(this.polling);
    this.polling = null;
  }

  finish() {
    this.end();
    this.say("finished");
  }

  refuse() {
    this.end();
    this.say("refused", new Date(this.lastFrame + this.offset).toISOString());
  }

  end() {
    this.over = true;
    this.stopPolling();
    clearInterval(this.watchdog);
    clearTimeout(this.retry);
    clearTimeout(this.stable);
    this.ws?.close();
  }
}
