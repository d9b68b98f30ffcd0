// The audience's page: follows a session, reads only.

import { Captions } from "./captions.js";
import { Connection } from "./connection.js";
import { linkTranscripts, showStatus } from "./view.js";

const session = decodeURIComponent(location.pathname.split("/").at(-1));
const captions = new Captions(document);
const empty = document.getElementById("empty");
// Milliseconds in which a speaker whose page is loaded again is back.
const RELOAD_MS = 5000;
let away = 0;

function presence(isThere) {
  clearTimeout(away);
  if (isThere) showStatus("live", "Live");
  else away = setTimeout(showStatus, RELOAD_MS, "idle", "Speaker away");
}

linkTranscripts(session);
new Connection(session, null, {
  events: (events) => {
    captions.apply(events);
    empty.hidden ||= captions.words.length > 0;
  },
  status: (state, text) => {
    clearTimeout(away);
    showStatus(state, text);
    if (state === "error") empty.textContent = `${text}. Ask the speaker for another link.`;
    if (state === "ended") empty.textContent = "Nothing was said";
  },
  tentative: (message) => captions.tentative(message),
  presence,
  clock: (ms) => captions.clock(ms),
  kept: () => {},
});
