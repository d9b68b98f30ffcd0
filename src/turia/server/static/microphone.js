// The microphone of this machine: its devices, its sound as 16-bit blocks, and how loud it is.

const TROUBLES = {
  NotAllowedError: "The browser may not use the microphone",
  NotFoundError: "No microphone was found",
  NotSupportedError: "This browser gives no microphone",
  NotReadableError: "The microphone is in use by another program",
  OverconstrainedError: "This microphone is not there any more",
};
// As in turia listen: a microphone that is switched on has more noise than that.
const SILENT = 33;
// Milliseconds of nothing after which one should look at the microphone.
const NOTHING_HEARD = 5000;

// Browsers give microphones to pages of this machine and by https alone.
export const canCapture = Boolean(globalThis.isSecureContext && navigator.mediaDevices && globalThis.AudioWorkletNode);

// [id, label] of each; labels are empty until the user has allowed one.
export async function devices() {
  const all = await navigator.mediaDevices.enumerateDevices();
  return all.filter((device) => device.kind === "audioinput" && device.deviceId).map((device) => [device.deviceId, device.label]);
}

// `on` has block(samples), level(0 to 1), heard(whether there was sound in the last seconds, whether
// ever before) and stopped(reason).
export class Capture {
  constructor(device, on) {
    this.on = on;
    this.closed = false;
    this.lastSound = performance.now();
    this.silent = false;
    this.ever = false;
    this.ready = this.open(device).catch((error) => this.fail(error));
  }

  async open(device) {
    const audio = { channelCount: 1, ...(device ? { deviceId: { exact: device } } : {}) };
    this.stream = await navigator.mediaDevices.getUserMedia({ audio });
    this.context = new AudioContext();
    await this.context.audioWorklet.addModule("/static/capture.js");
    if (this.closed) {
      this.release();
      return;
    }
    const source = this.context.createMediaStreamSource(this.stream);
    const node = new AudioWorkletNode(this.context, "capture", { numberOfOutputs: 0 });
    node.port.onmessage = (event) => this.take(event.data);
    source.connect(node);
    this.stream.getAudioTracks()[0].addEventListener("ended", () => this.fail(new Error("The microphone was disconnected")));
    await this.context.resume();
  }

  take(block) {
    if (this.closed) return;
    let peak = 0;
    for (const value of block) peak = Math.max(peak, Math.abs(value));
    // From -60 dB to full.
    this.on.level(peak ? Math.max(0, 1 + Math.log10(peak / 32768) / 3) : 0);
    const now = performance.now();
    if (peak >= SILENT) {
      this.lastSound = now;
      this.ever = true;
    }
    const silent = now - this.lastSound > NOTHING_HEARD;
    if (silent !== this.silent) this.on.heard(!silent, this.ever);
    this.silent = silent;
    this.on.block(block);
  }

  fail(error) {
    if (this.closed) return;
    this.close();
    this.on.stopped(TROUBLES[error.name] ?? `Microphone: ${error.message}`);
  }

  close() {
    this.closed = true;
    this.release();
  }

  release() {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    if (this.context?.state !== "closed") this.context?.close();
  }
}
