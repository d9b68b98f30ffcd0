// Lines of a translation that an operator may correct, hide or put in (docs/operator.md). The words stay as they came;
// what is shown in their place stands in an element of its own.

export class Lines {
  // `makeLine(before)` makes an element for a line that is put in: before the element of a word, or behind all.
  // Of so many sentences is it known where they stand.
  constructor(makeLine, most = Infinity) {
    this.makeLine = makeLine;
    this.most = most;
    this.clear();
  }

  clear() {
    this.words = new Map();
    this.corrected = new Map();
    this.inserted = new Map();
  }

  // The element of a word of a sentence; white space stands behind it.
  add(sentence, span) {
    if (!this.words.has(sentence)) this.words.set(sentence, []);
    this.words.get(sentence).push(span);
    if (this.words.size > this.most) this.words.delete(this.words.keys().next().value);
  }

  correct({ sentence, words, text }) {
    const spans = this.words.get(sentence);
    if (!spans) return;
    this.drop(this.corrected.get(sentence));
    this.corrected.delete(sentence);
    spans.forEach((span, place) => {
      span.hidden = place < words;
    });
    if (!text) return;
    const shown = document.createElement("span");
    shown.className = "word corrected";
    shown.title = "Corrected";
    shown.textContent = text;
    const next = spans[words];
    if (next) next.before(shown, " ");
    else spans.at(-1).nextSibling?.after(shown, " ");
    this.corrected.set(sentence, shown);
  }

  insert({ number, before, text }) {
    this.drop(this.inserted.get(number));
    this.inserted.delete(number);
    if (!text) return;
    const line = this.makeLine(this.words.get(before)?.[0]);
    line.classList.add("inserted");
    line.textContent = text;
    this.inserted.set(number, line);
  }

  drop(element) {
    if (element?.nextSibling?.nodeType === Node.TEXT_NODE) element.nextSibling.remove();
    element?.remove();
  }
}
