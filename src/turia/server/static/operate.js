// The operator's page: corrects, hides and puts in lines of a session, and steers it (docs/operator.md). It follows the
// session as the audience does; what the operator does comes back as an event, and is shown then. The page of a room,
// /room/NAME/operate, goes on with the next session by itself.
// Text from outside reaches the document by textContent alone.

import { direction, languageName, languagesOf } from "./captions.js";
import { Connection, serverInfo } from "./connection.js";
import { RoomConnection } from "./room_connection.js";
import { load, store } from "./storage.js";
import { showMuted, showStatus } from "./view.js";

const find = (id) => document.getElementById(id);
const [, kind, name] = location.pathname.split("/").map(decodeURIComponent);
const isRoom = kind === "room";
// Of a room, none until somebody has begun.
let session = isRoom ? null : name;
const KEY = `turia-operate-${isRoom ? "room-" : ""}${name}`;
const LOOK_MS = 5000;
const list = find("lines");
let key = decodeURIComponent(location.hash.slice(1)) || load(KEY) || "";
let models = [];
let following = true;
let language = "";
// Sentences by their numbers, and lines that were put in by theirs: { row, said, words, correction, ... }.
const sentences = new Map();
const insertions = new Map();

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function button(label, act) {
  const made = element("button", "", label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

function clockFace(ms) {
  const whole = Math.floor(ms / 1000);
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

function trouble(text) {
  find("trouble").textContent = text;
  find("trouble").hidden = !text;
}

// --- to the server ---------------------------------------------------------------------------------------------------

async function ask(method, message) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const address = `/api/sessions/${encodeURIComponent(session)}/steer`;
  const answer = await fetch(address, { method, headers, body: message && JSON.stringify(message) }).catch(() => null);
  const data = (await answer?.json().catch(() => ({}))) ?? {};
  const wrong = data.glossary_problems ?? [];
  return { ok: Boolean(answer?.ok), status: answer?.status ?? 0, detail: data.detail ?? "The server does not answer", wrong };
}

// Whether it was taken; if not, it is said why.
async function steer(message) {
  const answer = await ask("POST", message);
  trouble(answer.ok ? "" : answer.detail);
  if ([401, 403].includes(answer.status)) find("ask").showModal();
  return answer.ok;
}

async function enter() {
  const answer = await ask("GET");
  const refused = [401, 403].includes(answer.status);
  find("ask-trouble").hidden = !refused || !key;
  find("ask-trouble").textContent = answer.detail;
  if (refused) {
    if (!find("ask").open) find("ask").showModal();
    return;
  }
  if (key) store(KEY, key);
  // Nobody is to read it over the operator's shoulder.
  if (location.hash) history.replaceState(null, "", location.pathname);
  find("ask").close();
  find("controls").inert = find("insert-form").inert = false;
  showGlossaryProblems(answer.wrong);
}

function showGlossaryProblems(wrong) {
  find("glossary-trouble").hidden = !wrong.length;
  find("glossary-trouble").textContent = wrong.length ? `The server's glossary: ${wrong.join("; ")}. The terms stay as they were.` : "";
}

// Somebody may have spoilt the server's table meanwhile, or mended it.
setInterval(async () => {
  if (!session || find("controls").inert || document.hidden) return;
  const answer = await ask("GET");
  if (answer.ok) showGlossaryProblems(answer.wrong);
}, LOOK_MS);

// --- lines -----------------------------------------------------------------------------------------------------------

function makeRow(ms, before) {
  const row = element("li", "");
  row.lang = language;
  const time = element("time", "", clockFace(ms));
  const said = element("span", "said");
  said.dir = direction(language);
  row.append(time, said, element("span", "tools"));
  list.insertBefore(row, before);
  return { row, said, tools: row.lastElementChild, time };
}

function lineOf(number, ms) {
  if (!sentences.has(number)) sentences.set(number, { ...makeRow(ms, null), number, words: [], correction: null, open: true });
  const line = sentences.get(number);
  if (!line.tools.childElementCount) {
    const { tools } = line;
    tools.append(
      button("Edit", () => {
        // Words that come while one writes are not those that are corrected: they stand behind them.
        const count = line.words.length;
        edit(line, shownText(line), (text) => correct(line, count, text));
      }),
      button("Hide", () => (isChanged(line) ? correct(line, 0, "") : correct(line, line.words.length, ""))),
      button("Line above", () => edit(line, "", (text) => steer({ type: "insert", before: number, text }))),
    );
  }
  return line;
}

function correct(line, words, text) {
  return steer({ type: "correct", sentence: line.number, words, text });
}

function isChanged({ correction }) {
  return Boolean(correction && (correction.words || correction.text));
}

function shownText({ words, correction }) {
  if (!correction) return words.join(" ");
  return [correction.text, ...words.slice(correction.words)].filter(Boolean).join(" ");
}

function showLine(line) {
  const text = shownText(line);
  const changed = isChanged(line);
  line.row.className = [!text && "hidden", line.open && "open"].filter(Boolean).join(" ");
  line.said.textContent = text || "Hidden";
  line.row.querySelector(".before")?.remove();
  if (changed) line.said.after(element("span", "before", line.words.slice(0, line.correction.words).join(" ")));
  if (line.tools.childElementCount) line.tools.children[1].textContent = changed ? "As it was" : "Hide";
}

function insertion(event) {
  insertions.get(event.number)?.row.remove();
  insertions.delete(event.number);
  if (!event.text) return;
  const line = makeRow(event.ms, sentences.get(event.before)?.row ?? null);
  line.row.className = "inserted";
  line.said.textContent = event.text;
  const change = (text) => steer({ type: "insert", number: event.number, before: event.before, text });
  line.tools.append(
    button("Edit", () => edit(line, event.text, change)),
    button("Take away", () => change("")),
  );
  insertions.set(event.number, line);
}

// A field in the line; what is typed is kept if the server refuses it.
function edit(line, text, save) {
  line.row.querySelector("form")?.remove();
  const form = element("form", "");
  const field = element("textarea", "");
  field.value = text;
  field.rows = Math.min(4, 1 + Math.floor(text.length / 60));
  field.maxLength = 1000;
  field.ariaLabel = "Text of the line";
  const send = element("button", "primary", "Save");
  const close = () => form.remove();
  form.append(field, send, button("Cancel", close));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await save(field.value.split(/\s+/u).filter(Boolean).join(" "))) close();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  line.row.append(form);
  field.focus();
  field.select();
}

// --- events ----------------------------------------------------------------------------------------------------------

// wait-k by what it does, other policies by their names.
function plainly(policy) {
  const words = /^wait-k:k=(\d+)$/.exec(policy);
  return words ? `${words[1]} ${words[1] === "1" ? "word" : "words"}` : policy;
}

function settings(event) {
  [, language] = languagesOf(event);
  find("model").value = event.model;
  const steps = models.find((model) => model.name === event.model)?.dial ?? [];
  const policy = event.policy ?? `wait-k:k=${event.k}`;
  const known = steps.some((step) => step.policy.split(",")[0] === policy.split(",")[0]);
  find("policy").replaceChildren(
    ...(known ? [] : [new Option(event.target_lag ? `kept at ${event.target_lag}` : plainly(policy), policy)]),
    ...steps.map((step) => new Option(step.al === null ? plainly(step.policy) : `about ${step.al.toFixed(0)} words`, step.policy)),
  );
  find("policy").value = known ? steps.find((step) => step.policy.split(",")[0] === policy.split(",")[0]).policy : policy;
  find("terms").textContent = event.terms ? `${event.terms} ${event.terms === 1 ? "term is" : "terms are"} in use` : "No terms are in use";
}

function applyOne(event) {
  switch (event.type) {
    case "settings":
      settings(event);
      break;
    case "write": {
      const line = lineOf(event.sentence, event.ms ?? 0);
      line.words.push(event.word);
      showLine(line);
      break;
    }
    case "sentence": {
      const line = sentences.get(event.sentence);
      if (!line) break;
      line.open = false;
      showLine(line);
      break;
    }
    case "correction": {
      // A program may correct a sentence that has no word yet.
      const line = lineOf(event.sentence, event.ms ?? 0);
      line.correction = event;
      showLine(line);
      break;
    }
    case "insertion":
      insertion(event);
      break;
    case "end":
      for (const id of STEERING) find(id).disabled = true;
      break;
    default: // later servers may say more
  }
}

function follow() {
  // Whoever is writing in a line keeps it in sight.
  if (following && !list.querySelector("form")) list.scrollTo({ top: list.scrollHeight, behavior: "instant" });
}

list.addEventListener("scroll", () => {
  following = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  find("to-end").hidden = following;
});
find("to-end").addEventListener("click", () => {
  following = true;
  follow();
});

// --- controls --------------------------------------------------------------------------------------------------------

find("model").addEventListener("change", () => steer({ type: "settings", model: find("model").value }));
find("policy").addEventListener("change", () => steer({ type: "settings", policy: find("policy").value }));
find("mute").addEventListener("click", () => steer({ type: "mute", muted: find("mute").ariaPressed !== "true" }));
find("pause").addEventListener("click", () => steer({ type: "pause" }));
find("finish").addEventListener("click", () => {
  if (find("finish").dataset.sure) steer({ type: "end" });
  else {
    find("finish").dataset.sure = "yes";
    find("finish").textContent = "Really finish?";
    setTimeout(() => {
      delete find("finish").dataset.sure;
      find("finish").textContent = "Finish";
    }, 4000);
  }
});
find("insert-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = find("insert").value.split(/\s+/u).filter(Boolean).join(" ");
  const newest = [...sentences.values()].at(-1);
  const before = newest ? newest.number + (newest.open ? 0 : 1) : 0;
  if (text && (await steer({ type: "insert", before, text }))) find("insert").value = "";
});
find("table-file").addEventListener("change", async () => {
  const [file] = find("table-file").files;
  if (file) find("table").value = await file.text();
});
find("glossary-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await steer({ type: "settings", glossary: find("table").value.trim() })) find("glossary").open = false;
});
find("ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = find("key").value.trim();
  enter();
});

// --- the session, or one after another in a room -----------------------------------------------------------------------

const STEERING = ["pause", "mute", "finish", "model", "policy"];

function forgetLines() {
  sentences.clear();
  insertions.clear();
  list.replaceChildren();
  for (const id of STEERING) find(id).disabled = false;
  showMuted([{ type: "note", kind: "muted", detail: "off" }]);
  showEmpty();
}

function showEmpty() {
  find("empty").hidden = sentences.size + insertions.size > 0;
}

function room(message, isNew) {
  document.title = `${message.title} – operator`;
  find("empty").textContent = message.session ? "Nothing was said yet" : "Not begun yet";
  const { languages = [], language: shown = "" } = message;
  find("language").replaceChildren(...languages.map((item) => new Option(languageName(item.language), item.language)));
  find("language").value = shown;
  find("languages").hidden = languages.length < 2;
  session = message.session ?? null;
  find("controls").inert = find("insert-form").inert = true;
  if (isNew || !session) forgetLines();
  if (session) enter();
}

function connect() {
  const on = {
    events: (events) => {
      for (const event of events) applyOne(event);
      const muted = showMuted(events);
      find("mute").ariaPressed = String(muted);
      find("mute").textContent = muted ? "Go on" : "Pause";
      showEmpty();
      follow();
    },
    status: showStatus,
    clock: () => {},
    kept: () => {},
  };
  if (!isRoom) return new Connection(session, null, on);
  let chosen = null;
  const connection = new RoomConnection(name, {
    ...on,
    languages: () => (chosen ? [chosen] : []),
    room,
    closed: () => {
      session = null;
      forgetLines();
      find("empty").textContent = "There is no such room";
    },
  });
  find("language").addEventListener("change", () => {
    chosen = find("language").value;
    connection.chooseAgain();
  });
  return connection;
}

async function setUp() {
  ({ models } = await serverInfo());
  for (const { name: model, source, target } of models) {
    find("model").append(new Option(`${languageName(source)} → ${languageName(target)}`, model));
  }
  if (!isRoom) enter();
  connect();
}

setUp().catch(() => trouble("The server does not answer; load the page again"));
