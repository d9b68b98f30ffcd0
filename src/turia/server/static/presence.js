// Tells viewers that the speaker is away: not at once, as a page that is loaded again comes back.

import { showStatus } from "./view.js";

const RELOAD_MS = 5000;
let away = 0;

export function showPresence(isThere) {
  clearTimeout(away);
  if (isThere) showStatus("live", "Live");
  else away = setTimeout(showStatus, RELOAD_MS, "idle", "Speaker away");
}

// Whatever the status says next is newer.
export function forgetPresence() {
  clearTimeout(away);
}
