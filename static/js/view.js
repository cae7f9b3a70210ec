// Pan and zoom of an SVG by its viewBox; nothing inside is touched, so updates never move the picture.

export class View {
  // onTouch is called once a person has moved the picture.
  constructor(svg, onTouch = () => {}) {
    this.svg = svg;
    this.onTouch = onTouch;
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.pointers = new Map();
    this.moved = 0;
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (event) => this.up(event));
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.apply()).observe(svg);
  }

  get size() {
    return { width: this.svg.clientWidth || 1, height: this.svg.clientHeight || 1 };
  }

  apply() {
    const { width, height } = this.size;
    this.svg.setAttribute("viewBox", `${this.x} ${this.y} ${width / this.scale} ${height / this.scale}`);
  }

  down(event) {
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.moved = 0;
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const dx = event.clientX - last.x;
    const dy = event.clientY - last.y;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved < 4) return;
    this.svg.setPointerCapture(event.pointerId);
    this.svg.classList.add("is-panning");
    if (this.pointers.size === 2) this.pinch(event);
    else this.shift(-dx / this.scale, -dy / this.scale);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.onTouch();
  }

  pinch(event) {
    const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    const last = this.pointers.get(event.pointerId);
    const before = Math.hypot(last.x - other.x, last.y - other.y);
    const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
    this.zoom(after / Math.max(before, 1), other);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    this.svg.classList.remove("is-panning");
    // The click that ends a drag comes before this; later clicks, also those without a pointer, count again.
    setTimeout(() => { this.moved = 0; });
  }

  // A plain wheel scrolls the page; with Ctrl or Cmd (and as a pinch on a touchpad) it zooms.
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * 0.004), { x: event.clientX, y: event.clientY });
    this.onTouch();
  }

  shift(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  // Keeps the point of the picture under `at` (client coordinates; the middle by default) where it is.
  zoom(factor, at = null) {
    const box = this.svg.getBoundingClientRect();
    const px = at ? at.x - box.left : box.width / 2;
    const py = at ? at.y - box.top : box.height / 2;
    const next = Math.min(3, Math.max(0.12, this.scale * factor));
    this.x += px / this.scale - px / next;
    this.y += py / this.scale - py / next;
    this.scale = next;
    this.apply();
  }

  // Brings a point into the middle at a scale at which it can be read.
  centre(point) {
    const { width, height } = this.size;
    this.scale = Math.max(this.scale, 0.8);
    this.x = point.x - width / this.scale / 2;
    this.y = point.y - height / this.scale / 2;
    this.apply();
  }

  // Shows the box {x, y, width, height}; where it would become unreadable, keeps `focus` in the middle instead.
  fit(box, focus, least) {
    const { width, height } = this.size;
    const margin = 28;
    const wanted = Math.min((width - 2 * margin) / box.width, (height - 2 * margin) / box.height, 1.15);
    this.scale = Math.max(wanted, least);
    const fits = wanted >= least;
    const cx = fits ? box.x + box.width / 2 : this.held(focus.x, box.x, box.width, width);
    const cy = fits ? box.y + box.height / 2 : this.held(focus.y, box.y, box.height, height);
    this.x = cx - width / this.scale / 2;
    this.y = cy - height / this.scale / 2;
    this.apply();
  }

  // Centre nearest to `wanted` that shows no empty margin beyond the box.
  held(wanted, start, length, pixels) {
    const half = pixels / this.scale / 2 - 28 / this.scale;
    if (length <= 2 * half) return start + length / 2;
    return Math.min(Math.max(wanted, start + half), start + length - half);
  }
}
