// The page of a room: shows what runs in it, and goes on with the next session by itself.

import { Captions, languageName } from "./captions.js";
import { forgetPresence, showPresence } from "./presence.js";
import { RoomConnection } from "./room_connection.js";
import { load, store } from "./storage.js";
import { linkTranscripts, showMuted, showStatus } from "./view.js";

const name = decodeURIComponent(location.pathname.split("/")[2]);
const find = (id) => document.getElementById(id);
const captions = new Captions(document);
const asked = new URLSearchParams(location.search).get("language");
const KEY = `turia-language-${name}`;
let chosen = asked ?? load(KEY, "localStorage");
// The session that is shown, and whether anything was said in it.
let shown = null;
let spoken = false;

function fill(selector, text) {
  for (const place of document.querySelectorAll(selector)) place.textContent = text;
}

// What stands where captions will be.
function lobby(state, hint, withCode) {
  find("state").textContent = state;
  find("hint").textContent = hint;
  find("lobby-qr").hidden = !withCode;
  find("lobby").hidden = false;
}

// The address as others reach it, which the server knows.
async function showAddress() {
  const answer = await fetch(`/api/rooms/${encodeURIComponent(name)}`).catch(() => null);
  if (!answer?.ok) return;
  const info = await answer.json();
  fill("[data-address]", info.url.replace(/^https?:\/\//, ""));
  for (const warning of document.querySelectorAll(".local")) warning.hidden = info.reaches_others;
  const code = `/room/${encodeURIComponent(name)}/qr`;
  for (const picture of document.querySelectorAll("[data-qr]")) picture.src = `${code}.svg`;
  find("qr-svg").href = `${code}.svg`;
  find("qr-svg").download = `${name}.svg`;
  find("qr-png").href = `${code}.png`;
  find("qr-png").download = `${name}.png`;
  find("share").hidden = false;
}

function showLanguages({ languages, language }) {
  const select = find("language");
  select.replaceChildren(...languages.map((item) => new Option(languageName(item.language), item.language)));
  select.value = language;
  find("languages").hidden = languages.length < 2;
}

function room(message, isNew) {
  if (find("share").hidden) showAddress();
  document.title = `${message.title} – captions`;
  fill("[data-title]", message.title);
  showLanguages({ languages: [], ...message });
  find("save").hidden = !message.session;
  if (!message.session) {
    if (shown) captions.restart(true);
    shown = null;
    find("over").hidden = true;
    lobby("Not begun yet", "Captions appear here by themselves.", true);
    return;
  }
  linkTranscripts(message.session);
  if (!isNew) return;
  // A speaker who begins again goes on below what stands; another language does not.
  captions.restart(shown?.language !== message.language);
  shown = message;
  spoken = false;
  showMuted([{ type: "note", kind: "muted", detail: "off" }]);
  find("over").hidden = true;
  if (!captions.isEmpty) find("lobby").hidden = true;
  else lobby("Waiting for the speaker", "Captions appear here by themselves.", true);
}

function events(list) {
  captions.apply(list);
  showMuted(list);
  spoken ||= captions.words.length > 0;
  if (spoken) find("lobby").hidden = true;
}

function status(state, text) {
  forgetPresence();
  showStatus(state, text);
  if (state === "ended" && !captions.isEmpty) find("over").hidden = false;
  else if (state === "ended") lobby("Not begun yet", "Captions appear here by themselves.", true);
  if (state === "error" && captions.isEmpty) lobby(text, "", false);
  if (state === "lost" && captions.isEmpty) lobby("The server does not answer", "This page goes on by itself when it does.", false);
}

function closed() {
  shown = null;
  captions.restart(true);
  fill("[data-title]", "");
  for (const id of ["share", "save", "languages", "over"]) find(id).hidden = true;
  showStatus("idle", "No room");
  lobby("There is no such room", "Is the address right? If the room opens later, this page shows it.", false);
}

const connection = new RoomConnection(name, {
  languages: () => (chosen ? [chosen] : navigator.languages.slice(0, 20)),
  room,
  closed,
  events,
  status,
  tentative: (message) => captions.tentative(message),
  presence: showPresence,
  clock: (ms) => captions.clock(ms),
  kept: () => {},
});
find("language").addEventListener("change", () => {
  chosen = find("language").value;
  store(KEY, chosen, "localStorage");
  connection.chooseAgain();
});
