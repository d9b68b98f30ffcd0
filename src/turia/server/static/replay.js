// Plays a recording again: the events at their times, with pause, speed and place. What is chosen here stays here.

import { Captions } from "./captions.js";
import { timeline } from "./timeline.js";
import { showStatus } from "./view.js";

const SPEEDS = [0.5, 1, 1.5, 2, 4, 8, 16];
const TICK_MS = 50;
const find = (id) => document.getElementById(id);
let moments = [];
// Events of `moments` that are shown, and the second that is played.
let shown = 0;
let second = 0;
let timer = 0;
let before = 0;
// The session's clock stands at the first word when `second` is 0.
let beginning = 0;
const captions = new Captions(document, () => 1000 * (beginning + second));

function clockFace(seconds) {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

function length() {
  return moments.at(-1)?.seconds ?? 0;
}

// Shows all that is due; what was shown later than that is taken back.
function show() {
  if (shown && moments[shown - 1].seconds > second) {
    captions.restart(true);
    shown = 0;
  }
  const first = shown;
  while (shown < moments.length && moments[shown].seconds <= second) shown += 1;
  if (shown > first) captions.apply(moments.slice(first, shown).map((moment) => moment.event));
  find("place").value = length() ? second / length() : 1;
  find("time").textContent = `${clockFace(second)} / ${clockFace(length())}`;
}

function stop() {
  clearInterval(timer);
  timer = 0;
  const over = second >= length();
  find("play").textContent = over ? "Play again" : "Play";
  showStatus("idle", over ? "Finished" : "Paused");
}

function play() {
  if (second >= length()) second = 0;
  before = performance.now();
  clearInterval(timer);
  timer = setInterval(() => {
    // By the clock, not by the ticks: a tab in the background ticks late.
    const now = performance.now();
    second = Math.min(length(), second + ((now - before) / 1000) * Number(find("speed").value));
    before = now;
    show();
    if (second >= length()) stop();
  }, TICK_MS);
  find("play").textContent = "Pause";
  showStatus("live", "Replay");
  show();
}

function begin(text) {
  const read = timeline(text);
  ({ moments, beginning } = read);
  captions.restart(true);
  shown = 0;
  second = 0;
  if (!read.hasSource) find("stage").dataset.layout = "target";
  find("empty").hidden = true;
  find("panel-file").hidden = true;
  find("player").hidden = false;
  play();
}

function trouble(text) {
  find("empty").hidden = false;
  find("empty").textContent = text;
  showStatus("error", "Nothing to replay");
}

async function load(address) {
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok) trouble(answer?.status === 404 ? "No such session" : "The server does not answer");
  else begin(await answer.text());
}

function setUp() {
  const asked = Number(new URLSearchParams(location.search).get("speed")) || 1;
  for (const speed of new Set([...SPEEDS, asked].sort((a, b) => a - b))) find("speed").append(new Option(`${speed} ×`, speed));
  find("speed").value = asked;
  find("play").addEventListener("click", () => (timer ? stop() : play()));
  find("place").addEventListener("input", () => {
    second = Number(find("place").value) * length();
    show();
  });
  find("file").addEventListener("change", async () => {
    const [file] = find("file").files;
    if (!file) return;
    try {
      begin(await file.text());
    } catch (error) {
      trouble(error.message);
    }
  });
  const [, place, session] = location.pathname.split("/");
  // At `turia replay --page` there is one file, at a server there are sessions.
  const address = session ? `/api/sessions/${session}/transcript.jsonl` : "/recorded.jsonl";
  if (place === "replay" && !session) return;
  find("panel-file").hidden = true;
  load(address).catch((error) => trouble(error.message));
}

setUp();
