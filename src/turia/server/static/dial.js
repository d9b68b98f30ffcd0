// The dial "sooner … surer", and the expert's settings behind it: when words are written.

const find = (id) => document.getElementById(id);

// `wait-k:k=4` is `wait-k:k=4,rounding=floor`.
const plain = (policy) => policy.replace(",rounding=floor", "");
const inWords = (count) => `${count} ${count === 1 ? "word" : "words"}`;

export class Dial {
  // The steps of each model's dial, from sooner to surer, and the policy that it has unless told otherwise.
  #steps = new Map();
  #own = new Map();
  #names = new Set();
  #policy = "wait-k:k=4";
  // A mean lag that the server keeps by moving the policy, or null.
  #lag = null;

  // `choose` is called with what is to be sent when the speaker has chosen.
  constructor(choose) {
    const turned = () => {
      const step = this.#step();
      if (step) this.#set(step.policy, null);
    };
    find("k").addEventListener("input", turned);
    find("k").addEventListener("change", () => {
      turned();
      choose(this.timing());
    });
    find("expert-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!this.#expertIsRight()) return;
      this.#set(find("policy").value.trim() || this.#step()?.policy || this.#policy, find("target-lag").value.trim() || null);
      choose(this.timing());
      find("expert").open = false;
    });
    for (const id of ["policy", "target-lag"]) find(id).addEventListener("input", () => find(id).setCustomValidity(""));
  }

  // What the server says of its models and policies.
  know(info) {
    for (const model of info.models) {
      this.#steps.set(model.name, model.dial);
      this.#own.set(model.name, model.policy);
    }
    for (const policy of info.policies) {
      this.#names.add(policy.split(":")[0]);
      find("policies").append(new Option(policy));
    }
  }

  // Before a session, a model begins with its own policy.
  begin() {
    this.#set(this.#own.get(find("model").value) ?? this.#policy, null);
  }

  // The settings in force of a session.
  show(settings) {
    this.#set(settings.policy ?? `wait-k:k=${settings.k}`, settings.target_lag ?? null);
  }

  // As the server takes it: k is short for wait-k.
  timing() {
    const k = /^wait-k:k=(\d+)$/.exec(plain(this.#policy));
    return { ...(k ? { k: Number(k[1]) } : { policy: this.#policy }), ...(this.#lag ? { target_lag: this.#lag } : {}) };
  }

  #set(policy, lag) {
    this.#policy = policy;
    this.#lag = lag;
    const steps = this.#steps.get(find("model").value) ?? [];
    if (steps.length) find("k").max = steps.length;
    const place = steps.findIndex((step) => plain(step.policy) === plain(policy));
    if (place >= 0) find("k").value = place + 1;
    // The fields have what the dial does not show.
    find("policy").value = place >= 0 ? "" : policy;
    find("target-lag").value = lag ?? "";
    find("k-shown").textContent = this.#text(steps[place]);
  }

  #text(step) {
    if (this.#lag) return `lag ${this.#lag}`;
    if (step && step.al !== null) return `about ${inWords(Math.round(step.al))}`;
    const { k } = this.timing();
    return k ? inWords(k) : this.#policy;
  }

  #step() {
    return this.#steps.get(find("model").value)?.[Number(find("k").value) - 1];
  }

  // The server would end the connection of who sends a policy that it does not know.
  #expertIsRight() {
    const known = !find("policy").value || this.#names.has(find("policy").value.trim().split(":")[0]);
    find("policy").setCustomValidity(known ? "" : `One of: ${[...this.#names].join(", ")}`);
    const lag = find("target-lag").value.trim();
    find("target-lag").setCustomValidity(!lag || /^\d+(\.\d+)? *s?$/.test(lag) ? "" : "Such as 5 (words) or 3s (seconds)");
    return find("expert-form").reportValidity();
  }
}
