// The speaker's page: chooses a source, begins a session with the first word, and shows what comes.

import { Captions, languageName } from "./captions.js";
import { hold, isHeldElsewhere } from "./claim.js";
import { Connection, Refused, beginSession, serverInfo } from "./connection.js";
import { Dial } from "./dial.js";
import { textOf } from "./files.js";
import { Listening } from "./listening.js";
import { Rooms } from "./rooms.js";
import { Player, isPunctuated, typing, wordsOf } from "./sources.js";
import { forget, load, store } from "./storage.js";
import { linkTranscripts, showMuted, showStatus } from "./view.js";

const KEPT = "turia-session";
const KEY = "turia-key";
// The text that is being played; how far it is, what the session trusted before it, and whether it is paused.
const PLAYED = "turia-played";
const PLACE = "turia-place";
const SAMPLES = ["de", "en"];
const SPEECH_WORDS = 20;
const find = (id) => document.getElementById(id);
const captions = new Captions(document);
const segmenting = new Set();
// The language of each model's source.
const languages = new Map();
const dial = new Dial((timing) => send({ type: "settings", ...timing }));
const rooms = new Rooms(withKey, ask, (text) => showStatus("error", text));
let connection = null;
let over = false;
// The end was sent, or waits to be: nothing may follow it.
let ending = false;
let beginning = null;
let queued = [];
let player = null;
// Whether the session takes sentence ends from the punctuation; null while nobody knows.
let trusted = null;
// What it is to do again when the text has been played that is played now; null for no change.
let trustedBefore = null;
// The sound that the server is to recognise.
let sounding = null;
// Kept when the microphone that was stopped last has said its last words.
let quiet;

// --- the session ------------------------------------------------------------------------------------------------

// `kept` is what an earlier load of this page had not got acknowledged.
function attach(session, secret, kept) {
  find("welcome").hidden = true;
  linkTranscripts(session);
  rooms.attached(session, Boolean(kept));
  // The secret is behind the #, which browsers send to nobody.
  find("operate-link").href = `/operate/${encodeURIComponent(session)}#${encodeURIComponent(secret)}`;
  ending = kept?.waiting.some((item) => item.message.type === "end") ?? false;
  find("finish").disabled = ending;
  find("sources").inert = ending;
  document.body.dataset.session = session;
  hold(session);
  const keep = () => {
    // The connection says so while it is being made, too.
    if (connection && !over) store(KEPT, JSON.stringify({ session, secret, kept: connection.pending }));
  };
  const tentative = (message) => captions.tentative(message);
  const on = { events: show, status: showState, clock: (ms) => captions.clock(ms), kept: keep, tentative };
  connection = new Connection(session, secret, on, kept);
  if (sounding) connection.listen(sounding);
  keep();
}

function show(events) {
  captions.apply(events);
  showMuted(events);
  for (const event of events) {
    if (event.type !== "settings") continue;
    trusted = event.punctuation;
    find("model").value = event.model;
    dial.show(event);
    // Without punctuation a model must find sentence ends itself; the server would refuse another one.
    for (const option of find("model").options) option.disabled = !event.punctuation && !segmenting.has(option.value);
  }
}

function showState(state, text) {
  showStatus(state, text);
  if (state !== "ended" && state !== "error") return;
  // Nothing that is said from here on would reach anybody.
  over = true;
  find("sources").inert = true;
  silence();
  forget(KEPT);
  hold(null);
  find("finish").textContent = "New session";
  find("finish").disabled = false;
}

async function begin(punctuated) {
  const model = find("model").value;
  const punctuation = punctuated || !segmenting.has(model);
  // Who types may think for a while, and a microphone says itself when somebody has stopped.
  const chosen = { model: model || null, ...dial.timing(), punctuation, pause: 0, ...rooms.chosen() };
  return rooms.taking((take_room) => withKey((key) => beginSession({ ...chosen, take_room }, key)));
}

// Calls work(key) until the server knows the key.
async function withKey(work) {
  let key = load(KEY);
  for (;;) {
    try {
      return await work(key);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error;
      key = await askForKey(key === null ? "This server asks for a key" : "The server does not know this key");
      if (key === null) throw new Refused(401, "This server asks for a key");
      store(KEY, key);
    }
  }
}

// Whether the answer is yes; a question that is put away is answered with no.
function ask(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "go"), { once: true });
  });
}

// Null if the question is put away.
async function askForKey(question) {
  find("key-title").textContent = question;
  return (await ask(find("key-dialog"))) ? find("key").value : null;
}

// What is said or chosen while the session begins waits for it.
function send(...messages) {
  if (over || ending) return;
  if (connection) connection.send(...messages);
  else if (beginning) queued.push(...messages);
}

// The first words begin the session.
async function say(words, punctuation = false, times = null) {
  const inputs = words.map((word, i) => ({ type: "words", words: [word], ...(times && { times: [times[i]] }) }));
  if (over || connection || beginning) {
    send(...inputs);
    return;
  }
  queued = inputs;
  beginning = begin(punctuation);
  try {
    const begun = await beginning;
    attach(begun.session, begun.secret);
    connection.send(...queued);
  } catch (error) {
    // What was typed is not lost with the attempt.
    const typed = queued.flatMap((input) => input.words ?? []);
    if (!player && !microphone.active) find("typed").value = [...typed, find("typed").value].join(" ");
    silence();
    showStatus("error", error instanceof Refused ? error.message : "The server does not answer");
  } finally {
    beginning = null;
    queued = [];
  }
}

// Without punctuation a model must find sentence ends itself.
function trust(punctuation) {
  const wanted = punctuation || !segmenting.has(find("model").value);
  if (trusted === null || wanted === trusted) return;
  trusted = wanted;
  send({ type: "settings", punctuation: wanted });
}

function trustAsBefore() {
  if (trustedBefore !== null) trust(trustedBefore);
  trustedBefore = null;
}

function pause() {
  send({ type: "pause" });
}

// --- sources ----------------------------------------------------------------------------------------------------

// Gives the promise of when nothing more will be said.
function silence() {
  player?.stop();
  player = null;
  forget(PLAYED);
  trustAsBefore();
  showPlayer(false);
  if (microphone.active) quiet = microphone.stop();
  return quiet;
}

// `before` is what the session trusted before a text that goes on `from` here, or stays `paused` there.
function playText(text, from = 0, before = null, paused = false) {
  silence();
  const shown = (share, over) => {
    find("played").value = share;
    // A page that is loaded again goes on here. No word is in between: it is sent in the same turn.
    keepPlace(false);
    if (!over) return;
    forget(PLAYED);
    showPlayer(false);
    pause();
    trustAsBefore();
  };
  const punctuated = isPunctuated(text);
  player = new Player(text, () => Number(find("rate").value), (words) => say(words, punctuated), shown);
  player.at = from;
  if (player.over) return;
  store(PLAYED, text);
  trustedBefore = before;
  if (before === null && trusted !== null) {
    const now = trusted;
    trust(punctuated);
    if (trusted !== now) trustedBefore = now;
  }
  showPlayer(true);
  if (paused) {
    find("played").value = from / player.words.length;
    showPaused();
  } else {
    player.play();
  }
}

function keepPlace(paused) {
  store(PLACE, JSON.stringify([player.at, trustedBefore, paused]));
}

function showPaused() {
  find("play").textContent = player.playing ? "Pause" : "Play";
}

// After the page was loaded again. Words that wait for others which do not come would wait for ever: they are finished.
function goOn() {
  const text = load(PLAYED);
  if (text) playText(text, ...JSON.parse(load(PLACE)));
  else pause();
}

// The player stands where sources are chosen.
function showPlayer(shown) {
  find("player").hidden = !shown;
  find("sources").classList.toggle("playing", shown);
  find("play").textContent = "Pause";
}

async function playSample() {
  const answer = await fetch(`/static/sample.${spokenSample()}.txt`).catch(() => null);
  if (answer?.ok) playText(await answer.text());
  else showStatus("error", answer ? `The server has no sample: status ${answer.status}` : "The server does not answer");
}

const microphone = new Listening({
  say: (words, times) => say(words, false, times),
  tail: (words) => connection?.tail(words),
  pause,
  silence,
  // Sound needs a session before there are words.
  begin: () => { if (!connection && !beginning) say([]); },
  listen: (sound) => {
    sounding = sound;
    connection?.listen(sound);
  },
  fail: (reason) => {
    silence();
    showStatus("error", reason);
    // The session may still be beginning, and its state takes the place of the reason.
    microphone.trouble(reason);
  },
});

// --- the page ---------------------------------------------------------------------------------------------------

function spoken() {
  return languages.get(find("model").value) ?? "";
}

// Samples and examples are there for a language, whatever its region.
function spokenSample() {
  return spoken().split("-")[0];
}

function showExample() {
  const from = spokenSample();
  for (const example of document.querySelectorAll(".example")) example.hidden = example.dataset.from !== from;
  find("sample").hidden = !SAMPLES.includes(from);
}

function setUpTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const choose = (chosen) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      find(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  });
}

function setUpSources() {
  const sendRest = typing(find("typed"), (words) => say(words));
  find("panel-text").addEventListener("submit", (event) => {
    event.preventDefault();
    sendRest();
    pause();
  });
  find("typed").addEventListener("paste", (event) => {
    event.preventDefault();
    const words = wordsOf(event.clipboardData.getData("text"));
    // A pasted speech is played, not poured. Of a few words the field itself would glue those at the ends of lines.
    if (words.length >= SPEECH_WORDS) playText(words.join(" "));
    else document.execCommand("insertText", false, words.join(" "));
  });
  find("file").addEventListener("change", async () => {
    const [file] = find("file").files;
    if (!file) return;
    try {
      playText(await textOf(file));
    } catch (error) {
      showStatus("error", error.message);
    }
    // The same file may be chosen again.
    find("file").value = "";
  });
  find("panel-asr").addEventListener("submit", (event) => {
    event.preventDefault();
    // The name alone, or the address of its audience page.
    const name = find("asr-name").value.trim().split("/").at(-1);
    if (name) location.assign(`/watch/${encodeURIComponent(name)}`);
  });
  find("sample").addEventListener("click", playSample);
  find("play").addEventListener("click", () => {
    if (!player) return;
    if (player.playing) {
      player.stop();
      keepPlace(true);
    } else {
      player.play();
    }
    showPaused();
  });
  find("stop").addEventListener("click", () => {
    silence();
    pause();
  });
  find("rate").addEventListener("input", () => {
    find("rate-shown").textContent = `${find("rate").value} words/min`;
  });
}

function copying() {
  return document.querySelectorAll("[data-copy]");
}

function setUpShare() {
  for (const copy of copying()) {
    // Browsers have a clipboard on this machine and by https alone.
    copy.hidden = !navigator.clipboard;
    copy.addEventListener("click", async () => {
      const done = await navigator.clipboard.writeText(find(copy.dataset.copy).href).then(() => "Copied", () => "Not allowed");
      copy.textContent = done;
      setTimeout(() => { copy.textContent = "Copy link"; }, 2000);
    });
  }
}

function setUpControls() {
  find("model").addEventListener("change", () => {
    send({ type: "settings", model: find("model").value });
    showExample();
    // Another model has a dial of its own.
    if (!connection && !beginning) dial.begin();
    // The recogniser listens for another language now.
    microphone.speak(spoken());
  });
  find("finish").addEventListener("click", async () => {
    if (over) {
      location.reload();
      return;
    }
    find("finish").disabled = true;
    find("sources").inert = true;
    await silence();
    if (over) return;
    ending = true;
    connection.send({ type: "end" });
  });
  // Any sign of life keeps a silent session.
  for (const sign of ["keydown", "pointerdown"]) {
    document.addEventListener(sign, () => ["warned", "asleep"].includes(find("status").dataset.state) && connection.stay());
  }
}

async function setUp() {
  setUpTabs();
  setUpSources();
  setUpControls();
  setUpShare();
  const info = await serverInfo();
  for (const model of info.models) {
    const label = model.target ? `${languageName(model.source)} → ${languageName(model.target)}` : model.name;
    find("model").append(new Option(label, model.name));
    if (model.segmenter) segmenting.add(model.name);
    languages.set(model.name, model.source);
  }
  rooms.know(info, load(KEY));
  microphone.know(info);
  microphone.speak(spoken());
  dial.know(info);
  dial.begin();
  showExample();
  const left = JSON.parse(load(KEPT));
  if (!left) return;
  // What is said until that is known comes after what was said before.
  beginning = isHeldElsewhere(left.session);
  const refused = (await beginning) && !(await ask(find("held-dialog")));
  const said = queued;
  beginning = null;
  queued = [];
  if (refused) {
    forget(KEPT);
    forget(PLAYED);
    if (said.length) say(said.flatMap((input) => input.words ?? []));
    return;
  }
  attach(left.session, left.secret, left.kept);
  send(...said);
  goOn();
}

setUp().catch(() => showStatus("error", "The server does not answer"));
