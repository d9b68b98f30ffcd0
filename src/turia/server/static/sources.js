// Where words come from: typing, a text played at a speaking rate, the browser's speech recognition.
// Each takes `say(words)` and `pause()`; no connection and no captions in here.

// Words as the server takes them: no white space in them, at most 200 letters, no half characters.
export function wordsOf(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd").match(/[^\s\x1c-\x1f\x85]{1,200}/gu) ?? [];
}

// Words go out with the space after them; what is not finished waits.
export function typing(input, say) {
  const send = (all) => {
    const cut = all ? input.value.length : input.value.search(/\s\S*$/u);
    if (cut < 0) return;
    const words = wordsOf(input.value.slice(0, cut));
    input.value = input.value.slice(cut).trimStart();
    if (words.length) say(words);
  };
  input.addEventListener("input", (event) => {
    if (!event.isComposing) send(false);
  });
  return () => send(true);
}

const LONGEST_SENTENCE = 60;

// Whether sentence ends can be left to the text: a mark at the end of a word at least every so many words.
export function isPunctuated(text) {
  const marks = text.match(/[.!?…]["'»«“”’)]*(?=\s|$)/g) ?? [];
  return marks.length * LONGEST_SENTENCE >= wordsOf(text).length;
}

// Plays a text word by word. `rate()` tells the words a minute, `shown(share)` is told how far it is.
export class Player {
  constructor(text, rate, say, shown) {
    this.words = wordsOf(text);
    this.at = 0;
    this.rate = rate;
    this.say = say;
    this.shown = shown;
    this.timer = 0;
  }

  get playing() {
    return this.timer !== 0;
  }

  get over() {
    return this.at >= this.words.length;
  }

  play() {
    if (this.playing || this.over) return;
    let before = performance.now();
    let due = 1;
    const step = () => {
      // By the clock, not by the ticks: a tab in the background ticks late. The rate may change on the way.
      const now = performance.now();
      due += ((now - before) / 60000) * this.rate();
      before = now;
      const words = this.words.slice(this.at, this.at + Math.floor(due));
      due %= 1;
      this.at += words.length;
      if (words.length) this.say(words);
      if (this.over) this.stop();
      this.shown(this.at / this.words.length, this.over);
    };
    this.timer = setInterval(step, 50);
    step();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
  }
}

const Recognition = globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;
export const canListen = Boolean(Recognition);
const TROUBLES = {
  "audio-capture": "No microphone was found",
  "language-not-supported": "The browser does not recognise this language",
  network: "The browser’s speech recognition cannot be reached",
  "not-allowed": "The browser may not use the microphone",
  "service-not-allowed": "The browser does not offer speech recognition here",
};

// Milliseconds in which a recogniser that was stopped says its last words.
const LATEST_WORDS = 3000;
// Milliseconds of nothing after which one should look at the microphone.
const NOTHING_HEARD = 5000;

// The browser's recogniser revises its last words: a word goes out when two hypotheses in a row agree on it and on the
// word after it, or when the recogniser has settled. `heard(false)` says that there was no sound for a while, `heard(true)`
// that there is some again.
export class Microphone {
  constructor(languageCode, say, pause, stopped, tail, heard) {
    this.recognition = new Recognition();
    this.recognition.lang = languageCode;
    this.recognition.continuous = true;
    this.recognition.interimResults = true;
    this.listening = true;
    this.over = new Promise((resolve) => { this.finished = resolve; });
    const said = new Map();
    const done = (index) => said.get(index) ?? 0;
    let latest = 0;
    let before = [];
    const listenFor = () => {
      clearTimeout(this.nothing);
      if (this.listening) this.nothing = setTimeout(() => heard(false), NOTHING_HEARD);
    };
    for (const sign of ["soundstart", "speechstart", "result"]) {
      this.recognition.addEventListener(sign, () => {
        heard(true);
        listenFor();
      });
    }
    listenFor();
    this.recognition.addEventListener("result", (event) => {
      for (let i = event.resultIndex; i < event.results.length; i += 1) {
        const words = wordsOf(event.results[i][0].transcript);
        latest = i;
        const first = done(i);
        let until = first;
        if (event.results[i].isFinal) until = words.length;
        else while (until + 1 < words.length && words[until] === before[until] && words[until + 1] === before[until + 1]) until += 1;
        if (until > first) say(words.slice(first, until));
        said.set(i, Math.max(first, until));
        before = event.results[i].isFinal ? [] : words;
        if (event.results[i].isFinal) pause();
        else tail(words.slice(done(i)));
      }
    });
    this.recognition.addEventListener("error", (event) => {
      if (["no-speech", "aborted"].includes(event.error)) return;
      this.listening = false;
      clearTimeout(this.nothing);
      stopped(TROUBLES[event.error] ?? `Microphone: ${event.error}`);
    });
    this.recognition.addEventListener("end", () => {
      // Browsers stop listening after a while; what they had heard by then does not change any more.
      const rest = before.slice(done(latest));
      if (rest.length) say(rest);
      said.clear();
      before = [];
      if (this.listening) {
        this.recognition.start();
        return;
      }
      pause();
      this.finished();
    });
    this.recognition.start();
  }

  // Its last words come after that; the promise is kept when they have come, or if they do not.
  stop() {
    this.listening = false;
    clearTimeout(this.nothing);
    this.recognition.stop();
    setTimeout(this.finished, LATEST_WORDS);
    return this.over;
  }
}
