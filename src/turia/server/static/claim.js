// Which tab speaks in a session. A duplicated tab gets a copy of what the first one keeps, the session's secret too.

const ANSWER_MS = 250;
const channel = new BroadcastChannel("turia-session");
let held = null;

channel.addEventListener("message", ({ data }) => {
  if (held !== null && data.asked === held) channel.postMessage({ held });
});

// This tab speaks in the session from now on; null for in none.
export function hold(session) {
  held = session;
}

// Whether another tab does. One that is closed, or loaded again, does not answer.
export function isHeldElsewhere(session) {
  return new Promise((resolve) => {
    const answered = ({ data }) => data.held === session && done(true);
    const done = (elsewhere) => {
      channel.removeEventListener("message", answered);
      resolve(elsewhere);
    };
    channel.addEventListener("message", answered);
    channel.postMessage({ asked: session });
    setTimeout(done, ANSWER_MS, false);
  });
}
