// Runs `work` after the next frame was shown; a hidden tab has none, so it waits no longer than half a second.
export function afterPaint(work) {
  let isDone = false;
  const once = () => { if (!isDone) { isDone = true; work(); } };
  requestAnimationFrame(() => setTimeout(once));
  setTimeout(once, 500);
}
