// The audience's page: follows a session, reads only.

import { Captions } from "./captions.js";
import { Connection } from "./connection.js";
import { forgetPresence, showPresence } from "./presence.js";
import { linkTranscripts, showMuted, showStatus } from "./view.js";

const session = decodeURIComponent(location.pathname.split("/").at(-1));
const captions = new Captions(document);
const empty = document.getElementById("empty");
linkTranscripts(session);
new Connection(session, null, {
  events: (events) => {
    captions.apply(events);
    showMuted(events);
    empty.hidden ||= captions.words.length > 0;
  },
  status: (state, text) => {
    forgetPresence();
    showStatus(state, text);
    if (state === "error") empty.textContent = `${text}. Ask the speaker for another link.`;
    if (state === "ended") empty.textContent = "Nothing was said";
  },
  tentative: (message) => captions.tentative(message),
  presence: showPresence,
  clock: (ms) => captions.clock(ms),
  kept: () => {},
});
