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
    // Of sentences before this one nothing is known any more.
    this.oldest = 0;
    // How many words of a sentence its correction stands for, and the element that it is in.
    this.replaced = new Map();
    this.corrected = new Map();
    this.inserted = new Map();
    // Corrections of sentences that have no word yet.
    this.early = new Map();
  }

  // The element of a word of a sentence; white space stands behind it.
  add(sentence, span) {
    if (!this.words.has(sentence)) this.words.set(sentence, []);
    const spans = this.words.get(sentence);
    // A program may correct words that are still to come.
    if (spans.length < (this.replaced.get(sentence) ?? 0)) span.hidden = true;
    spans.push(span);
    const early = this.early.get(sentence);
    if (early) {
      this.early.delete(sentence);
      this.correct(early);
    }
    if (this.words.size <= this.most) return;
    const [first] = this.words.keys();
    this.words.delete(first);
    this.oldest = first + 1;
  }

  correct({ sentence, words, text }) {
    const spans = this.words.get(sentence);
    if (!spans) {
      if (sentence >= this.oldest) this.early.set(sentence, { sentence, words, text });
      return;
    }
    this.drop(this.corrected.get(sentence));
    this.corrected.delete(sentence);
    this.replaced.set(sentence, words);
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
    if (!text || before < this.oldest) return;
    // A sentence may have no words. Then the line stands before the next one that has some.
    const next = [...this.words.keys()].find((sentence) => sentence >= before);
    const line = this.makeLine(this.words.get(next)?.[0]);
    line.classList.add("inserted");
    line.textContent = text;
    this.inserted.set(number, line);
  }

  // What a sentence says, as it is shown.
  text(sentence) {
    const left = (this.words.get(sentence) ?? []).filter((span) => !span.hidden);
    return [this.corrected.get(sentence), ...left].map((span) => span?.textContent).filter(Boolean).join(" ");
  }

  drop(element) {
    if (element?.nextSibling?.nodeType === Node.TEXT_NODE) element.nextSibling.remove();
    element?.remove();
  }
}
