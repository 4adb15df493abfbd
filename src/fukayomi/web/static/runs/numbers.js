// Numbers as text, and intervals as a dot on a line.
import {html, nothing, svg} from "../vendor/lit-html.js";

/** @param {number | null | undefined} value @param {number} [digits] */
export function number(value, digits = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = value.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text.replace("-", "−");
}

/** A figure of unknown size, with four digits. @param {number | null | undefined} value */
export function figure(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e4) return compact(value);
  return value
    .toPrecision(4)
    .replace(/(\.\d*?)0+(e|$)/, "$1$2")
    .replace(/\.(e|$)/, "$1")
    .replace("-", "−");
}

/** With a sign. @param {number | null | undefined} value @param {number} [digits] */
export function signed(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  const text = number(value, digits);
  return value > 0 && !/^0(\.0*)?$/.test(text) ? `+${text}` : text;
}

/** A share from 0 to 1 in percent. @param {number | null | undefined} share @param {number} [digits] */
export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${number(100 * share, digits)} %`);

/** Such as 12k. @param {number} value */
export const compact = value => value.toLocaleString("en", {notation: "compact", maximumFractionDigits: 2}).replace("-", "−");

/** Such as 1:05 h or 12 min. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 100) return `${number(seconds, seconds < 10 && seconds % 1 ? 1 : 0)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")} h`;
}

/** A date and time of the reader's place. @param {number} seconds since the epoch */
export function moment(seconds) {
  const date = new Date(1000 * seconds);
  /** @param {number} value */
  const two = value => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/**
 * A common scale for the intervals of a table: their range with a margin. It does not begin at zero.
 * @param {{low: number | null, high: number | null, value: number | null}[]} intervals
 */
export function scaleOf(intervals) {
  const ends = intervals
    .flatMap(({low, high, value}) => (low === null && high === null ? [value] : [low, high]))
    .filter(each => each !== null);
  if (!ends.length) return {low: 0, high: 1};
  const low = Math.min(...ends);
  const high = Math.max(...ends);
  const margin = 0.06 * (high - low) || 1;
  return {low: low - margin, high: high + margin};
}

const WIDTH = 160;
const HEIGHT = 18;

/**
 * A value as a dot on the line of its interval; a line with one end and no dot where only that end is known.
 * @param {{low: number | null, high: number | null, value: number | null}} interval
 * @param {{low: number, high: number}} scale @param {string} label @param {number} [mark]  Where a thin line is drawn, such as at even strength.
 */
export function dot({low, high, value}, scale, label, mark) {
  const place = value ?? low ?? high;
  if (place === null) return nothing;
  /** @param {number} each */
  const x = each => (WIDTH * (each - scale.low)) / (scale.high - scale.low);
  const y = HEIGHT / 2;
  const left = low === null ? null : x(low);
  const right = high === null ? null : x(high);
  return html`<svg class="interval" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>
    ${mark === undefined || mark < scale.low || mark > scale.high ? nothing : svg`<line class="mark" x1=${x(mark)} x2=${x(mark)} y1="0" y2=${HEIGHT}></line>`}
    ${left === null && right === null ? nothing : svg`<line x1=${left ?? 0} x2=${right ?? WIDTH} y1=${y} y2=${y}></line>`}
    ${
      (left === null) === (right === null)
        ? svg`<circle class=${left === null ? "open" : ""} cx=${x(place)} cy=${y} r="4.5"></circle>`
        : svg`<path d=${`M${left ?? right} ${y - 6}v12`}></path>`
    }</svg>`;
}
