// The microphone's panel: who recognises the speech, which device, how loud it is, and push-to-talk.

import { Capture, canCapture, devices } from "./microphone.js";
import { SoundSender } from "./sound.js";
import { Microphone, canListen } from "./sources.js";
import { languageName } from "./captions.js";

// Pieces before the button was pressed that belong to what is said: people press late.
const LEAD = 3;
// Milliseconds for which a warning is shown.
const WARNED = 10000;
const find = (id) => document.getElementById(id);

// `page` has say(words, times), tail(words), pause(), begin(), listen(sender), silence() and fail(text).
export class Listening {
  constructor(page) {
    this.page = page;
    this.languages = [];
    this.browserSpeech = false;
    this.language = "";
    this.source = null;
    this.capture = null;
    this.turn = null;
    this.lead = [];
    // Kept when the last words of the turn before have come.
    this.before = Promise.resolve();
    find("mic").addEventListener("click", () => (this.active ? page.silence() : this.start()));
    find("talk-mode").addEventListener("change", () => {
      // While the microphone is on: from now on only what is said while the button is held, or everything.
      if (this.capture && find("talk-mode").checked) this.endTurn();
      else this.beginTurn();
      this.show();
    });
    find("device").addEventListener("change", () => this.restart());
    const talk = find("talk");
    for (const sign of ["pointerup", "pointercancel", "blur"]) talk.addEventListener(sign, () => this.endTurn());
    talk.addEventListener("pointerdown", (event) => {
      talk.setPointerCapture(event.pointerId);
      this.beginTurn();
    });
    for (const [sign, act] of [["keydown", () => this.beginTurn()], ["keyup", () => this.endTurn()]]) {
      talk.addEventListener(sign, (event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        act();
      });
    }
  }

  // What the server says of itself.
  know({ recognises = [], browser_speech: browserSpeech = false }) {
    this.languages = recognises;
    this.browserSpeech = browserSpeech;
    this.show();
  }

  // The speaker's language has changed.
  speak(language) {
    this.language = language;
    this.show();
    this.restart();
  }

  get active() {
    return Boolean(this.source || this.capture);
  }

  get heardHere() {
    return this.languages.some((known) => known === this.language || known === this.language.split("-")[0]);
  }

  get browserHears() {
    return !this.heardHere && this.browserSpeech && canListen;
  }

  hint() {
    if (this.heardHere && !canCapture) return "Browsers give a microphone only to pages by https or of this machine.";
    if (this.heardHere) return "Recognised by this server. Sound is not stored.";
    if (this.browserHears) return "Your browser recognises the speech; some send it to their maker for that.";
    if (this.browserSpeech) return "This browser has no speech recognition. Type, play a file, or connect a recogniser.";
    const language = this.language ? `${languageName(this.language)} ` : "";
    return `This server recognises no ${language}speech. Type, play a file, or connect a recogniser.`;
  }

  show() {
    find("mic").disabled = !(this.heardHere && canCapture) && !this.browserHears;
    find("mic").textContent = this.active ? "Stop listening" : "Start listening";
    find("mic-hint").textContent = this.hint();
    find("mic-hint").hidden = Boolean(this.capture);
    find("level").hidden = !this.capture;
    find("mic-menu").hidden = !this.heardHere || !canCapture;
    find("talk").hidden = !this.capture || !find("talk-mode").checked;
  }

  // What is wrong with the sound; nothing if all is well.
  trouble(text) {
    clearTimeout(this.hiding);
    if (text) find("unheard").textContent = text;
    find("unheard").hidden = !text;
  }

  // What was wrong with the last seconds.
  warn(text) {
    this.trouble(text);
    this.hiding = setTimeout(() => this.trouble(""), WARNED);
  }

  start() {
    this.page.silence();
    if (this.heardHere) this.startHere();
    else this.startBrowser();
    this.show();
  }

  startBrowser() {
    const { say, tail, pause, fail } = this.page;
    const heard = (sound) => this.trouble(sound ? "" : "Nothing is heard. Is the microphone on?");
    this.source = new Microphone(this.language, say, pause, fail, tail, heard);
  }

  startHere() {
    this.page.begin();
    this.capture = new Capture(find("device").value, {
      block: (samples) => this.take(samples),
      level: (value) => { find("level").value = value; },
      heard: (sound, ever) => this.trouble(sound ? "" : `Nothing is heard${ever ? "" : " yet"}. Is the microphone on?`),
      stopped: (reason) => this.page.fail(reason),
    });
    if (!find("talk-mode").checked) this.beginTurn();
    this.capture.ready.then(() => this.listDevices());
  }

  async listDevices() {
    const chosen = find("device").value;
    const found = await devices();
    find("device").replaceChildren(new Option("System default", ""), ...found.map(([id, label]) => new Option(label || "Microphone", id)));
    find("device").value = found.some(([id]) => id === chosen) ? chosen : "";
  }

  take(samples) {
    if (this.turn) this.turn.push(samples);
    else this.lead = [...this.lead, samples].slice(-LEAD);
  }

  beginTurn() {
    if (this.turn || !this.capture) return;
    const { say, tail, pause } = this.page;
    const trouble = (code, text, over) => {
      if (over) this.page.fail(text);
      else this.warn(text);
    };
    const turn = new SoundSender(this.language, { say, tail, pause, trouble });
    this.turn = turn;
    for (const block of this.lead) turn.push(block);
    this.lead = [];
    find("talk").setAttribute("aria-pressed", "true");
    // The last words of the turn before come first.
    this.before.then(() => this.page.listen(turn));
  }

  endTurn() {
    find("talk").setAttribute("aria-pressed", "false");
    if (!this.turn) return this.before;
    this.before = this.turn.end();
    this.turn = null;
    return this.before;
  }

  restart() {
    if (!this.active) return;
    this.stop();
    this.start();
  }

  // Gives the promise of when nothing more will be said.
  stop() {
    const quiet = this.source?.stop() ?? this.endTurn();
    this.source = null;
    this.capture?.close();
    this.capture = null;
    this.lead = [];
    this.trouble("");
    this.show();
    return quiet;
  }
}
