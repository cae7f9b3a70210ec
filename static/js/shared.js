// The page of a live share link: asks every 15 s whether it has changed. No socket, and nothing else is asked for.
const PERIOD_MS = 15_000;
const main = document.getElementById("main");
let etag = main.dataset.live;
let timer = 0;

function say(words, isEnd) {
  let note = document.getElementById("live-note");
  if (!words) {
    note?.remove();
    return;
  }
  if (!note) {
    note = document.createElement("p");
    note.id = "live-note";
    note.className = "note-box tone-warn";
    note.setAttribute("role", "status");
    main.prepend(note);
  }
  if (note.textContent !== words) note.textContent = words;
  if (isEnd) clearInterval(timer);
}

async function refresh() {
  if (document.visibilityState !== "visible") return;
  try {
    const answer = await fetch(location.href, { headers: { "If-None-Match": etag }, cache: "no-store", credentials: "omit" });
    if (answer.status === 404) {
      // What was shared is not shared any more, so it does not stay on the screen either.
      document.getElementById("result").replaceChildren();
      say("This link does not work any more. Ask whoever sent it for a new one.", true);
      return;
    }
    if (answer.status === 304) {
      say("");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.getElementById("result").replaceChildren(...page.getElementById("result").childNodes);
    etag = page.getElementById("main").dataset.live;
    say("");
  } catch {
    say("Not live at the moment: the site does not answer. Trying again.");
  }
}

timer = setInterval(refresh, PERIOD_MS);
