// Lines of captions on nothing, for OBS. They scroll up as they fill; when nobody speaks they go.

import { direction, languagesOf } from "./captions.js";
import { Lines } from "./corrections.js";
import { Connection } from "./connection.js";
import { overlayOptions } from "./overlay_options.js";
import { RoomConnection } from "./room_connection.js";

const SILENCE_MS = 8000;
const box = document.getElementById("captions");
const lines = document.getElementById("lines");
let silence = 0;
let chosen = {};
// More than the lines take; those above them are there to scroll away.
let mostWords = 60;
// The events whose words are shown: translations, what is spoken, or none of them.
let side = "write";

const known = new Lines((before) => {
  const span = document.createElement("span");
  if (!before) lines.append(span, " ");
  // A line before words that have scrolled away is not shown.
  else if (before.isConnected) before.before(span, " ");
  return span;
}, 50);

function clear() {
  lines.replaceChildren();
  known.clear();
}

function add(text, isName = false, sentence = undefined) {
  const span = document.createElement("span");
  if (isName) span.className = "speaker";
  span.textContent = text;
  lines.append(span, " ");
  if (sentence !== undefined) known.add(sentence, span);
}

// What an operator changes: only in translations.
function change(event) {
  if (side !== "write") return;
  if (event.type === "correction") known.correct(event);
  else known.insert(event);
}

// Words above the lines are taken away by whole lines, so that those that stay do not move.
function trim() {
  const before = lines.offsetHeight;
  while (lines.childElementCount > mostWords) {
    const top = lines.firstElementChild.offsetTop;
    if (lines.lastElementChild.offsetTop === top) break;
    // Looked for before anything goes: then the next line would be the first.
    const second = [...lines.children].find((span) => span.offsetTop !== top);
    while (lines.firstChild !== second) lines.firstChild.remove();
  }
  box.scrollBy({ top: lines.offsetHeight - before, behavior: "instant" });
}

// Which side is in the language that was asked for; after a change of direction it may be the other one.
function choose(settings) {
  const { language = "target" } = chosen;
  const [from, to] = languagesOf(settings);
  const before = side;
  if (language === "target" || language === to) side = "write";
  else if (language === "source" || language === from) side = "source";
  else side = "";
  // Only what stands in the line's own language stays there.
  if (side !== before) clear();
  lines.lang = side === "source" ? from : to;
  lines.dir = direction(lines.lang);
  const notice = document.querySelector(".notice");
  if (notice) notice.hidden = side === "source" || !notice.textContent;
}

function show(options) {
  const root = document.documentElement;
  const set = (name, value) => value !== undefined && root.style.setProperty(name, value);
  set("--lines", options.lines);
  mostWords = 30 * (options.lines ?? 2);
  set("--size", options.size && `${options.size}px`);
  set("--color", options.color && `#${options.color}`);
  set("--background", options.background && `#${options.background}`);
  for (const name of ["position", "align"]) if (options[name]) root.dataset[name] = options[name];
  let notice = document.querySelector(".notice");
  if (!notice && options.notice) {
    notice = document.createElement("p");
    notice.className = "notice";
    box.after(notice);
  }
  if (!notice) return;
  notice.textContent = options.notice ?? notice.textContent;
  notice.hidden = !notice.textContent;
  notice.dataset.position = options["notice-position"] ?? notice.dataset.position ?? "top";
}

// Where the newest words begin, as many as are kept; at the beginning of a sentence, as corrections count from there.
function newest(items) {
  let place = items.length;
  for (let left = mostWords; place > 0 && left > 0; left -= items[place].text ? 1 : 0) place -= 1;
  const sentence = items[place]?.sentence;
  return sentence === undefined ? place : items.findIndex((item) => item.sentence === sentence);
}

function events(list) {
  const items = [];
  for (const event of list) {
    if (event.type === "settings") choose(event);
    else if (event.type === side) items.push({ text: event.word, sentence: event.sentence });
    else if (["correction", "insertion"].includes(event.type)) items.push({ changed: event });
    else if (event.type === "note" && event.kind === "speaker" && side) items.push({ text: `${event.detail}:`, name: true });
  }
  if (!items.length) return;
  for (const { text, name, sentence, changed } of items.slice(newest(items))) {
    if (changed) change(changed);
    else add(text, name, sentence);
  }
  trim();
  const lineByLine = box.scrollHeight - box.scrollTop < 2.5 * box.clientHeight;
  box.scrollTo({ top: box.scrollHeight, behavior: lineByLine ? "auto" : "instant" });
  box.classList.add("speaking");
  clearTimeout(silence);
  silence = setTimeout(() => box.classList.remove("speaking"), SILENCE_MS);
}

// The overlay of a session, /overlay/NAME, or of a room, /room/NAME/overlay.
const [, kind, name] = location.pathname.split("/").map(decodeURIComponent);
const ignored = () => {};
try {
  chosen = overlayOptions(location.search);
  show(chosen);
  const on = { events, status: ignored, clock: ignored, kept: ignored };
  if (kind === "room") {
    const languages = () => (chosen.language && !["target", "source"].includes(chosen.language) ? [chosen.language] : []);
    new RoomConnection(name, { ...on, languages, room: (_, isNew) => isNew && clear(), closed: ignored });
  } else {
    new Connection(name, null, on);
  }
} catch (error) {
  add(error.message);
  box.classList.add("speaking", "wrong");
}
