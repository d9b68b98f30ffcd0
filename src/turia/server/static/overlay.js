// Two lines of captions on nothing, for OBS. Lines scroll up as they fill; when nobody speaks they go.

import { direction, languagesOf } from "./captions.js";
import { Connection } from "./connection.js";

const SILENCE_MS = 8000;
const MOST_WORDS = 60;
const box = document.getElementById("captions");
const lines = document.getElementById("lines");
let silence = 0;

function add(text) {
  const span = document.createElement("span");
  span.textContent = text;
  lines.append(span, " ");
}

// Words above the two lines are taken away by whole lines, so that those that stay do not move.
function trim() {
  const before = lines.offsetHeight;
  while (lines.childElementCount > MOST_WORDS) {
    const top = lines.firstElementChild.offsetTop;
    if (lines.lastElementChild.offsetTop === top) break;
    while (lines.firstElementChild.offsetTop === top) {
      lines.firstElementChild.nextSibling.remove();
      lines.firstElementChild.remove();
    }
  }
  box.scrollBy({ top: lines.offsetHeight - before, behavior: "instant" });
}

function events(list) {
  const words = list.filter((event) => event.type === "write");
  for (const event of list) {
    if (event.type !== "settings") continue;
    [, lines.lang] = languagesOf(event);
    lines.dir = direction(lines.lang);
  }
  for (const event of words.slice(-MOST_WORDS)) add(event.word);
  if (!words.length) return;
  trim();
  const lineByLine = box.scrollHeight - box.scrollTop < 2.5 * box.clientHeight;
  box.scrollTo({ top: box.scrollHeight, behavior: lineByLine ? "auto" : "instant" });
  box.classList.add("speaking");
  clearTimeout(silence);
  silence = setTimeout(() => box.classList.remove("speaking"), SILENCE_MS);
}

const session = decodeURIComponent(location.pathname.split("/").at(-1));
const ignored = () => {};
new Connection(session, null, { events, status: ignored, clock: ignored, kept: ignored });
