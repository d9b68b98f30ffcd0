// Runs in the audio thread: mixes the microphone's channels, converts their rate to 16 kHz, and posts blocks of a tenth
// of a second as 16-bit samples. Browsers record at 44,100 or 48,000 samples a second, and not all convert it themselves.

const RATE = 16000;
const BLOCK = RATE / 10;
// Samples on each side that a converted one is made of, at the lower of both rates.
const REACH = 16;

// Sound of another rate in, 16 kHz out: a sinc filter under a Blackman window. Any chunking gives the same samples.
export class Resampler {
  constructor(rate) {
    this.step = rate / RATE;
    this.scale = Math.max(1, this.step);
    this.half = Math.ceil(REACH * this.scale);
    // Silence before the first sample, so that the filter has something to reach back to.
    this.kept = new Float32Array(this.half);
    this.at = this.half;
  }

  weight(distance) {
    const x = distance / this.scale;
    if (Math.abs(x) >= REACH) return 0;
    const turn = (Math.PI * x) / REACH;
    const window = 0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
    // A little below the highest frequency, where the window is not steep enough.
    const cut = 0.92 / this.scale;
    const sinc = distance === 0 ? cut : Math.sin(Math.PI * cut * distance) / (Math.PI * distance);
    return sinc * window;
  }

  push(samples) {
    const sound = new Float32Array(this.kept.length + samples.length);
    sound.set(this.kept);
    sound.set(samples, this.kept.length);
    const out = [];
    while (this.at + this.half < sound.length) {
      const first = Math.ceil(this.at - this.half);
      const last = Math.floor(this.at + this.half);
      let sum = 0;
      for (let i = first; i <= last; i += 1) sum += sound[i] * this.weight(i - this.at);
      out.push(sum);
      this.at += this.step;
    }
    const needed = Math.max(0, Math.floor(this.at) - this.half - 1);
    this.kept = sound.slice(needed);
    this.at -= needed;
    return out;
  }
}

export function to16Bit(value) {
  return Math.round(32767 * Math.max(-1, Math.min(1, value)));
}

// A page that tests the converter has neither of these.
const Processor = globalThis.AudioWorkletProcessor ?? Object;

class Capture extends Processor {
  constructor() {
    super();
    this.resampler = new Resampler(globalThis.sampleRate);
    this.block = new Int16Array(BLOCK);
    this.filled = 0;
  }

  process([channels]) {
    if (!channels?.length) return true;
    const mixed = new Float32Array(channels[0].length);
    for (const channel of channels) for (let i = 0; i < mixed.length; i += 1) mixed[i] += channel[i] / channels.length;
    for (const value of this.resampler.push(mixed)) {
      this.block[this.filled] = to16Bit(value);
      this.filled += 1;
      if (this.filled < BLOCK) continue;
      this.port.postMessage(this.block, [this.block.buffer]);
      this.block = new Int16Array(BLOCK);
      this.filled = 0;
    }
    return true;
  }
}

globalThis.registerProcessor?.("capture", Capture);
