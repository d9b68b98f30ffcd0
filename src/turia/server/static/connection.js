// The protocol of docs/protocol.md in a browser: a session's inputs out, its events in, whatever the network does.
// Inputs are kept until they are acknowledged; events come in order, each once. No document in here.

export const PROTOCOL = 1;
// The longest words, of letters of four bytes, still fit into the 64 KiB that a server takes.
const WORDS_PER_MESSAGE = 50;
export const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;

export class Refused extends Error {
  // `ours` is what a server of ours says; a proxy in front of servers that are away has other words.
  constructor(status, message, ours = false) {
    super(message);
    this.status = status;
    this.ours = ours;
  }
}

async function post(path, bearer, body) {
  const headers = { "Content-Type": "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body ?? {}) });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const ours = typeof data.detail === "string";
    throw new Refused(answer.status, ours ? data.detail : answer.statusText, ours);
  }
  return data;
}

export async function serverInfo() {
  const answer = await fetch("/api/info");
  if (!answer.ok) throw new Refused(answer.status, answer.statusText);
  return answer.json();
}

export async function beginSession(chosen, key) {
  return post("/api/sessions", key, chosen);
}

// `on` has events(list), status(state, text), clock(ms) and kept(); tentative(message) if it shows what may still change;
// presence(isThere) if it shows whether the speaker is connected. Without a secret it only follows.
export class Connection {
  // `kept` is what `pending` was when the page was left: inputs that nobody has acknowledged are sent again.
  constructor(session, secret, on, kept = { next: 1, waiting: [] }) {
    this.session = session;
    this.secret = secret;
    this.on = on;
    this.have = 0;
    this.newest = null;
    this.next = kept.next;
    this.waiting = kept.waiting;
    this.sent = 0;
    this.socket = null;
    this.ended = false;
    this.asleep = false;
    this.warned = false;
    this.wait = FIRST_WAIT;
    // Sound that the server recognises (sound.js), and when the session began, by performance.now().
    this.sound = null;
    this.began = null;
    this.connect();
  }

  // Inputs, in order; words go one by one.
  send(...messages) {
    for (const message of messages) {
      this.waiting.push({ seq: this.next, message });
      this.next += 1;
    }
    this.on.kept();
    this.wake();
    this.flush();
  }

  // What the recogniser hears after all that was sent, and may still revise. Nobody keeps it: the next one comes soon.
  tail(words) {
    const { socket } = this;
    if (!socket?.welcomed || !socket.tail || this.sent !== this.next - 1) return;
    socket.send(JSON.stringify({ type: "partial", after: this.sent, words: words.slice(0, socket.tail) }));
  }

  // Sends this sound from now on, also after the connection was lost.
  listen(sound) {
    this.sound = sound;
    if (this.socket?.welcomed) sound.connected(this.socket, this.began);
    else this.wake();
  }

  // A sign of life: somebody is there, though nothing is said.
  stay() {
    this.wake();
    if (this.socket?.welcomed) this.socket.send(JSON.stringify({ type: "ping" }));
  }

  // Whoever was sent off for silence comes back when there is a reason to, not to hold a place for nobody.
  wake() {
    if (!this.asleep) return;
    this.asleep = false;
    this.connect();
  }

  get pending() {
    return { next: this.next, waiting: this.waiting };
  }

  flush() {
    if (!this.socket?.welcomed || !this.waiting.length) return;
    // No more on their way than the server takes; after a long absence there may be thousands.
    const until = this.waiting[0].seq + this.socket.most;
    const fresh = this.waiting.filter((item) => item.seq > this.sent && item.seq < until);
    for (let i = 0; i < fresh.length; ) {
      const { seq, message } = fresh[i];
      let size = 1;
      if (message.type === "words") {
        // Words with times and words without do not mix in one message.
        const alike = (item) => item?.message.type === "words" && Boolean(item.message.times) === Boolean(message.times);
        while (size < WORDS_PER_MESSAGE && alike(fresh[i + size])) size += 1;
        const group = fresh.slice(i, i + size).map((item) => item.message);
        const words = group.map((one) => one.words[0]);
        const times = message.times && group.map((one) => one.times[0]);
        this.socket.send(JSON.stringify({ type: "words", seq, words, times }));
      } else {
        this.socket.send(JSON.stringify({ ...message, seq }));
      }
      i += size;
    }
    if (fresh.length) this.sent = fresh.at(-1).seq;
  }

  async connect() {
    this.on.status("connecting", this.have ? "Reconnecting" : "Connecting");
    let ticket;
    try {
      ({ ticket } = await post(`/api/sessions/${encodeURIComponent(this.session)}/tickets`, this.secret));
    } catch (error) {
      if (error instanceof Refused && error.ours && [403, 404].includes(error.status)) {
        this.on.status("error", error.status === 404 ? "No such session" : error.message);
        return;
      }
      this.later();
      return;
    }
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/socket`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      // The newest event comes once more, to be compared: a store that was set back may have passed it since.
      const have = Math.max(0, this.have - 1);
      const tentative = Boolean(this.on.tentative);
      const presence = Boolean(this.on.presence);
      socket.send(JSON.stringify({ type: "hello", protocol: PROTOCOL, ticket, have, tentative, presence }));
    });
    socket.addEventListener("message", (event) => this.take(socket, JSON.parse(event.data)));
    socket.addEventListener("close", () => {
      if (this.socket === socket) this.socket = null;
      if (!this.ended && !socket.refused) this.later();
    });
  }

  later() {
    this.on.status("lost", "Connection lost, coming back");
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
  }

  take(socket, message) {
    switch (message.type) {
      case "hello": {
        const lost = this.secret && this.lost(message);
        if (lost) {
          this.refuse(socket, `The server has lost ${lost}`);
          break;
        }
        this.wait = FIRST_WAIT;
        this.warned = false;
        socket.welcomed = true;
        socket.most = message.limits.unacknowledged;
        socket.tail = message.limits.tail ?? 0;
        this.acknowledged(message.last_input);
        this.sent = message.last_input;
        this.next = Math.max(this.next, message.last_input + 1);
        this.on.clock(message.ms);
        this.on.status("live", "Live");
        this.began = performance.now() - message.ms;
        this.flush();
        this.sound?.connected(socket, this.began);
        break;
      }
      case "ack":
        this.acknowledged(message.seq);
        this.calm();
        this.flush();
        break;
      case "pong":
        this.calm();
        break;
      case "events":
        this.takeEvents(socket, message);
        break;
      case "tentative":
        if (message.after === this.have) this.on.tentative?.(message);
        break;
      case "presence":
        this.on.presence?.(message.speaker);
        break;
      case "listening":
      case "heard":
      case "sound":
        this.sound?.take(socket, message);
        break;
      case "warning":
        this.warned = true;
        this.on.status("warned", "Still there? Type or click");
        break;
      case "error":
        this.asleep = message.code === "idle";
        socket.refused = this.asleep || !message.retry;
        if (this.asleep) this.on.status("asleep", "Resting. Type or click");
        else if (socket.refused) this.on.status("error", message.message);
        break;
      case "going-away":
        this.wait = 1000 * message.retry_after;
        this.on.status("lost", "The server is restarting");
        break;
      default: // later servers may say more
    }
  }

  // What a speaker's server should have and has not, as from a backup: then there is no going on. To
  // viewers a server may be a little behind.
  lost({ last_input: inputs, last_event: events }) {
    const oldest = this.waiting[0]?.seq ?? this.next;
    if (inputs + 1 < oldest) return `inputs ${inputs + 1} to ${oldest - 1}`;
    return events < this.have ? `events ${events + 1} to ${this.have}` : "";
  }

  refuse(socket, text) {
    socket.refused = true;
    this.on.status("error", text);
    socket.close();
  }

  takeEvents(socket, message) {
    if (socket.refused) return;
    const known = message.events[this.have - message.seq];
    // Settings may take the place of one that the server does not keep any more.
    if (known && known.type !== "settings" && JSON.stringify(known) !== this.newest) {
      this.refuse(socket, "The server has lost what is shown here");
      return;
    }
    const fresh = message.events.slice(Math.max(0, this.have + 1 - message.seq));
    if (fresh.length) this.newest = JSON.stringify(fresh.at(-1));
    this.have = Math.max(this.have, message.seq + message.events.length - 1);
    this.ended = fresh.some((event) => event.type === "end") || this.ended;
    this.on.events(fresh);
    if (this.ended) this.on.status("ended", "Finished");
  }

  calm() {
    if (!this.warned) return;
    this.warned = false;
    this.on.status("live", "Live");
  }

  acknowledged(seq) {
    while (this.waiting.length && this.waiting[0].seq <= seq) this.waiting.shift();
    this.on.kept();
  }
}
