// Sound to the server and words back (docs/protocol.md, "Sound"). Sound is kept until its words are settled, so that a
// connection that breaks loses none of it, for at most a minute. No microphone and no document in here.

const VERSION = 1;
const HEADER = 16;
export const RATE = 16000;
// Samples that are kept at most, and those that go at once when there are more.
const LONGEST = 60 * RATE;
const DROPPED = 10 * RATE;
// Milliseconds in which the server says the last words.
const LATEST_WORDS = 15000;

// One turn of a speaker. `on` has say(words, times), tail(words), pause() and trouble(code, text, over).
export class SoundSender {
  constructor(language, on) {
    this.language = language;
    this.on = on;
    // Pieces of sound, and the number of the first sample among them. They are numbered from 0 here, and from `base` on
    // the wire, which is known when the session's clock is.
    this.blocks = [];
    this.first = 0;
    this.next = 0;
    this.base = null;
    this.began = performance.now();
    this.sent = 0;
    this.taken = 0;
    this.window = 0;
    this.settled = [];
    this.socket = null;
    this.ended = false;
    this.over = new Promise((resolve) => { this.finish = resolve; });
  }

  push(samples) {
    if (this.ended) return;
    this.blocks.push(samples);
    this.next += samples.length;
    if (this.next - this.first > LONGEST) this.lose();
    this.flush();
  }

  // The oldest sound goes. What follows is another beginning: words before the gap are not looked for behind it.
  lose() {
    const until = this.first + DROPPED;
    while (this.first < until) this.first += this.blocks.shift().length;
    this.settled = [];
    if (this.socket?.readyState === WebSocket.OPEN && this.sent < this.first) this.ask();
    this.on.trouble("lost", "Sound was lost: the server did not take it in time");
  }

  // A socket that the server has welcomed, and when the session began, by performance.now().
  connected(socket, sessionBegan) {
    if (this.base === null) this.base = Math.max(0, Math.round(((this.began - sessionBegan) / 1000) * RATE));
    this.socket = socket;
    this.ask();
  }

  ask() {
    this.window = 0;
    this.hushed = false;
    this.sent = this.first;
    const from = this.base + this.first;
    this.socket.send(JSON.stringify({ type: "listen", from, language: this.language, settled: this.settled }));
  }

  // No more sound comes; the promise is kept when all of it is understood, or will not be.
  end() {
    if (!this.ended) {
      this.ended = true;
      this.flush();
      setTimeout(this.finish, LATEST_WORDS);
    }
    return this.over;
  }

  flush() {
    if (!this.window || this.socket?.readyState !== WebSocket.OPEN) return;
    let at = this.first;
    for (const block of this.blocks) {
      // No further ahead of the recogniser than the server takes.
      if (at + block.length > this.taken + this.window) return;
      if (at >= this.sent) {
        this.socket.send(this.message(at, block));
        this.sent = at + block.length;
      }
      at += block.length;
    }
    if (!this.ended || this.hushed) return;
    this.hushed = true;
    this.socket.send(JSON.stringify({ type: "hush" }));
  }

  message(at, block) {
    const data = new ArrayBuffer(HEADER + 2 * block.length);
    const view = new DataView(data);
    view.setUint8(0, VERSION);
    view.setBigUint64(8, BigInt(this.base + at), true);
    block.forEach((value, i) => view.setInt16(HEADER + 2 * i, value, true));
    return data;
  }

  take(socket, message) {
    if (socket !== this.socket) return;
    if (message.type === "listening") {
      this.taken = message.from - this.base;
      this.window = message.window;
    } else if (message.type === "heard") {
      this.heard(message);
    } else if (message.type === "sound") {
      this.on.trouble(message.code, message.message, message.over);
      if (message.over) this.stop();
    }
    this.flush();
  }

  heard({ taken, keep, settled, words, times, partial, pause, over }) {
    this.taken = taken - this.base;
    this.settled = settled ? [...this.settled, ...words].slice(-settled) : [];
    while (this.blocks.length && this.first + this.blocks[0].length <= keep - this.base) {
      this.first += this.blocks.shift().length;
    }
    if (words.length) this.on.say(words, times);
    if (partial) this.on.tail(partial);
    if (pause || over) this.on.pause();
    if (over) this.stop();
  }

  stop() {
    this.ended = true;
    this.window = 0;
    this.blocks = [];
    this.socket = null;
    this.finish();
  }
}
