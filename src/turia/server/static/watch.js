// The audience's page: follows a session, reads only.

import { Captions } from "./captions.js";
import { Connection } from "./connection.js";
import { linkTranscripts, showStatus } from "./view.js";

const session = decodeURIComponent(location.pathname.split("/").at(-1));
const captions = new Captions(document);
linkTranscripts(session);
new Connection(session, null, {
  events: (events) => captions.apply(events),
  status: showStatus,
  clock: (ms) => captions.clock(ms),
  kept: () => {},
});
