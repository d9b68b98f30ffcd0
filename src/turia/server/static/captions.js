// A session's events on the page. Words are only ever appended, as text nodes: what stands does not change or move.
// Behind them, in grey, stands what may still change.
// Text from outside reaches the document by textContent alone.

import { Lines } from "./corrections.js";

const PARAGRAPH_WORDS = 80;
// Seconds without a word after which nobody is speaking, and there is no delay to tell.
const QUIET_SECONDS = 10;
const RIGHT_TO_LEFT = ["ar", "fa", "he", "ur"];

// Events that an older release has stored say them by the model's name alone.
export function languagesOf(settings) {
  const [from = "", to = ""] = settings.model.split("-");
  return [settings.source ?? from, settings.target ?? to];
}

export function direction(code) {
  return RIGHT_TO_LEFT.includes(code.split("-")[0]) ? "rtl" : "ltr";
}

const names = new Intl.DisplayNames(["en"], { type: "language" });

// Behind an x stands the latency of captions that a viewer can choose: en-x-k8 waits for eight words.
export function languageName(code) {
  const [language, latency] = code.split("-x-");
  let name = language;
  try {
    name = names.of(language) ?? language;
  } catch {
    // Not a language that the browser knows.
  }
  if (!latency) return name;
  const k = /^k(\d+)$/.exec(latency);
  return k ? `${name}, k = ${k[1]}` : `${name}, ${latency}`;
}

// One side: paragraphs of words. Follows its end until the reader goes back, and again when the reader has come to it.
// Text in another language than the text before it begins with a heading; the title is the one of the uppermost text
// that is seen.
class Pane {
  constructor(text, title, onScroll) {
    this.text = text;
    this.title = title;
    this.noName = title.textContent;
    this.paragraph = null;
    this.language = "";
    // Where each language begins, and which.
    this.parts = [];
    this.following = true;
    this.top = 0;
    this.tail = [];
    // Whose name the next paragraph begins with.
    this.speaker = "";
    text.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = text;
      if (scrollTop < this.top - 1) this.following = false;
      if (scrollHeight - scrollTop - clientHeight < 48) this.following = true;
      this.top = scrollTop;
      text.classList.toggle("scrolled", scrollTop > 4);
      this.showTitle();
      onScroll();
    });
  }

  speak(code) {
    if (this.language !== code) {
      // What stands keeps its own language.
      this.language = code;
      this.breakLine();
    }
    this.showTitle();
  }

  nameOf(code) {
    return code ? languageName(code) : this.noName;
  }

  showTitle() {
    const top = this.text.scrollTop;
    const seen = this.parts.findLast((part) => !part.heading || part.heading.offsetTop - this.text.offsetTop <= top);
    const name = this.nameOf((seen ?? { language: this.language }).language);
    if (this.title.textContent !== name) this.title.textContent = name;
  }

  beginPart() {
    if (this.parts.length && this.parts.at(-1).language === this.language) return;
    let heading = null;
    if (this.parts.length) {
      heading = document.createElement("h3");
      heading.textContent = this.nameOf(this.language);
      this.text.append(heading);
    }
    this.parts.push({ heading, language: this.language });
  }

  // A word takes the place of a grey one.
  add(word, className) {
    this.drop(this.tail.shift());
    return this.put(word, className, this.tail[0]);
  }

  // The grey words behind all others, in place of those before.
  showTail(words) {
    this.tail.forEach((span) => this.drop(span));
    this.tail = words.map((word) => {
      const span = this.put(word, "tentative");
      span.ariaHidden = "true";
      return span;
    });
  }

  drop(span) {
    span?.nextSibling.remove();
    span?.remove();
  }

  put(word, className, before = null) {
    if (!this.paragraph) {
      this.beginPart();
      this.paragraph = document.createElement("p");
      this.paragraph.lang = this.language;
      this.paragraph.dir = direction(this.language);
      this.text.append(this.paragraph);
      if (this.speaker) this.nameSpeaker();
    }
    const span = document.createElement("span");
    span.className = className;
    span.textContent = word;
    this.paragraph.insertBefore(span, before);
    this.paragraph.insertBefore(document.createTextNode(" "), before);
    return span;
  }

  // The next words are of somebody else.
  turn(name) {
    this.breakLine();
    this.speaker = name;
  }

  nameSpeaker() {
    const name = document.createElement("strong");
    name.className = "speaker";
    name.textContent = this.speaker;
    this.paragraph.append(name);
    this.speaker = "";
  }

  // A line of the operator's, before the line of a word or behind all.
  makeLine(before) {
    const line = document.createElement("p");
    line.lang = this.language;
    line.dir = direction(this.language);
    if (before) before.closest("p").before(line);
    else {
      this.breakLine();
      this.beginPart();
      this.text.append(line);
    }
    return line;
  }

  breakLine() {
    this.showTail([]);
    if (this.paragraph && !this.paragraph.querySelector(".word")) {
      // Nothing but grey words stood there. The name is still to be said.
      this.speaker ||= this.paragraph.querySelector(".speaker")?.textContent ?? "";
      this.paragraph.remove();
    }
    this.paragraph = null;
  }

  // Text of another session follows; what stands goes if `clear` says so.
  restart(clear) {
    this.breakLine();
    this.speaker = "";
    if (clear) {
      this.text.replaceChildren();
      this.parts = [];
      this.language = "";
      this.following = true;
    } else if (this.text.childElementCount) {
      this.text.append(document.createElement("hr"));
    }
  }

  follow() {
    if (!this.following) return;
    const { scrollTop, scrollHeight, clientHeight } = this.text;
    const way = scrollHeight - clientHeight - scrollTop;
    // A line glides, where the reader likes motion; a whole transcript does not.
    if (way >= 1) this.text.scrollTo({ top: scrollHeight, behavior: way > clientHeight / 2 ? "instant" : "auto" });
  }
}

export class Captions {
  // `clock` tells the milliseconds of the session, where they are not those of now: in a replay.
  constructor(root, clock = null) {
    const find = (id) => root.getElementById(id);
    this.toEnd = find("to-end");
    const onScroll = () => {
      this.toEnd.hidden = this.source.following && this.target.following;
    };
    this.source = new Pane(find("source"), find("source-title"), onScroll);
    this.target = new Pane(find("target"), find("target-title"), onScroll);
    this.lag = find("lag");
    this.announcer = find("announcer");
    this.toEnd.addEventListener("click", () => this.goToEnd());
    this.now = clock ?? (() => performance.now() + this.ahead);
    this.begin();
    setInterval(() => this.showLag(), 250);
    // Another size of the window or of the letters moves the end away.
    new ResizeObserver(() => this.follow()).observe(this.target.text);
  }

  begin() {
    this.lines = new Lines((before) => this.target.makeLine(before));
    this.words = [];
    this.covered = 0;
    this.sentence = { start: 0, written: 0 };
    this.gamma = 1;
    this.ahead = -Infinity;
    this.over = false;
  }

  // The events that come next are another session's. What stands goes if `clear` says so.
  restart(clear) {
    this.cover(this.words.length);
    this.source.restart(clear);
    this.target.restart(clear);
    this.begin();
    this.showLag();
  }

  get isEmpty() {
    return !this.source.text.childElementCount;
  }

  goToEnd() {
    for (const pane of [this.source, this.target]) {
      pane.following = true;
      pane.follow();
    }
    this.toEnd.hidden = true;
  }

  follow() {
    this.source.follow();
    this.target.follow();
  }

  apply(events) {
    for (const event of events) this.applyOne(event);
    this.follow();
    this.showLag();
  }

  // What may still change: the recogniser's last words, and what would be written for them.
  tentative({ source, target }) {
    this.source.showTail(source);
    this.target.showTail(target);
    this.follow();
  }

  // The session's clock shows at least `ms` now; the quickest message tells the time best.
  clock(ms) {
    this.ahead = Math.max(this.ahead, ms - performance.now());
  }

  applyOne(event) {
    if (event.ms !== undefined) this.clock(event.ms);
    switch (event.type) {
      case "settings": {
        this.gamma = event.gamma;
        const [from, to] = languagesOf(event);
        this.source.speak(from);
        this.target.speak(to);
        break;
      }
      case "source":
        this.addSource(event);
        break;
      case "write":
        this.lines.add(event.sentence, this.target.add(event.word, "word"));
        this.sentence.written += 1;
        this.cover(this.sentence.start + Math.floor(this.sentence.written / this.gamma));
        break;
      case "sentence":
        this.endSentence(event);
        break;
      case "end":
        this.over = true;
        this.cover(this.words.length);
        break;
      case "correction":
        this.lines.correct(event);
        break;
      case "insertion":
        this.lines.insert(event);
        break;
      case "note":
        // All sentences before it are closed. Other notes are for traces.
        if (event.kind !== "speaker") break;
        this.source.turn(event.detail);
        this.target.turn(event.detail);
        break;
      default: // later servers may say more
    }
  }

  addSource(event) {
    // A browser lays out one paragraph for each new word, and it must not be a whole speech.
    const count = this.source.paragraph?.childElementCount ?? 0;
    if (count >= 2 * PARAGRAPH_WORDS) this.source.paragraph.classList.add("goes-on");
    if (count >= 2 * PARAGRAPH_WORDS || (count >= PARAGRAPH_WORDS && /[.!?…]$/u.test(this.words.at(-1).span.textContent))) {
      this.source.breakLine();
    }
    this.words.push({ span: this.source.add(event.word, "word waiting"), ms: event.ms });
  }

  endSentence(event) {
    const start = this.sentence.start + event.source_words;
    this.cover(start);
    // Words after the sentence may stand there already: they stay where they are, the first gets a mark.
    if (start === this.words.length) this.source.breakLine();
    else this.words[start]?.span.classList.add("starts");
    this.target.breakLine();
    // What an operator has hidden is not read out either.
    this.announcer.textContent = this.lines.text(event.sentence);
    this.sentence = { start, written: 0 };
  }

  cover(count) {
    const until = Math.min(count, this.words.length);
    for (; this.covered < until; this.covered += 1) this.words[this.covered].span.classList.remove("waiting");
  }

  showLag() {
    const waiting = this.words.length - this.covered;
    const [words, seconds] = this.lag.children;
    words.textContent = this.words.length ? `${waiting} ${waiting === 1 ? "word" : "words"}` : "";
    const now = this.now();
    const behind = waiting ? (now - this.words[this.covered].ms) / 1000 : 0;
    const quiet = this.words.length ? (now - this.words.at(-1).ms) / 1000 : Infinity;
    seconds.textContent = quiet < QUIET_SECONDS && !this.over ? `${behind.toFixed(1)} s behind` : "";
  }
}
