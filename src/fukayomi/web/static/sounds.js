// The sound of a piece on the board, and the last seconds of a clock. Both are off until the reader wants them.
import {setting} from "./settings.js";

/** From so many seconds on a clock is counted down, and from so many higher. */
const COUNTED_S = 10;
const HURRIED_S = 5;

export class Sounds {
  constructor() {
    /** Made for the first sound, after the reader has touched the page. @type {AudioContext | null} */
    this.context = null;
    /** The second that was last counted. */
    this.counted = 0;
  }

  /** A piece is put on the board. */
  piece() {
    if (!setting("sounds", false)) return;
    const context = this.opened();
    const length = Math.floor(0.07 * context.sampleRate);
    const buffer = context.createBuffer(1, length, context.sampleRate);
    const wave = buffer.getChannelData(0);
    for (let at = 0; at < length; at++) wave[at] = (2 * Math.random() - 1) * Math.exp((-9 * at) / length);
    const source = context.createBufferSource();
    const wood = context.createBiquadFilter();
    source.buffer = buffer;
    wood.type = "bandpass";
    wood.frequency.value = 1400;
    wood.Q.value = 2.5;
    source.connect(wood).connect(context.destination);
    source.start();
  }

  /** So many seconds are left to the reader. @param {number} seconds */
  countDown(seconds) {
    if (seconds === this.counted) return;
    this.counted = seconds;
    if (seconds < 1 || seconds > COUNTED_S || !setting("countdown", false)) return;
    const context = this.opened();
    const tone = context.createOscillator();
    const volume = context.createGain();
    const now = context.currentTime;
    tone.frequency.value = seconds <= HURRIED_S ? 1320 : 880;
    volume.gain.setValueAtTime(0.16, now);
    volume.gain.exponentialRampToValueAtTime(0.001, now + 0.12);
    tone.connect(volume).connect(context.destination);
    tone.start(now);
    tone.stop(now + 0.13);
  }

  opened() {
    this.context ??= new AudioContext();
    if (this.context.state === "suspended") this.context.resume();
    return this.context;
  }
}
