/** Words for messages. */

import { instant } from "./dates.js";

/** Where branch and pseudotime are in doubt. */
const MAY_MEAN_LITTLE = "its branch and pseudotime may mean little.";
/** A new sample with such a p-value, or a smaller one, is far. */
const FAR_P = 0.05;
/** One farther than this percentage of the samples of the fit, where p is not known. */
const FAR_PERCENT = 99;

/**
 * @typedef {object} Far  How far a new sample is.
 * @property {import("./trust.js").Told | null} told
 * @property {number | null} partNearer  Of the samples of the fit, in percent; null: not comparable.
 */

/**
 * What to be careful with in a new sample; "" if there is nothing.
 *
 * @param {Far} sample
 */
export function warningOf({ told, partNearer }) {
  const isOutside = told?.outside.length > 0;
  const check = isOutside ? " Check the columns that are out of range, and their units." : "";
  if (Number.isFinite(told?.p)) {
    if (told.p <= FAR_P)
      return `Far from the tree (p = ${shortP(told.p)}): ${MAY_MEAN_LITTLE}${check}`;
  } else if (partNearer > FAR_PERCENT) {
    return `Far from the tree, farther than nearly all samples of the fit: ${MAY_MEAN_LITTLE}${check}`;
  }
  return isOutside ? `Beyond the samples of the fit: ${MAY_MEAN_LITTLE}${check}` : "";
}

/**
 * How far a new sample is, beside others.
 *
 * @param {Far} sample
 */
export function farWords({ told, partNearer }) {
  if (!Number.isFinite(told?.p)) {
    if (partNearer === null) return "";
    return `farther than ${Math.round(partNearer)} % of the samples of the fit`;
  }
  const [nearer, of] = nearerOf(told);
  return `farther than ${nearer} of ${of} samples held out of the fit: p = ${shortP(told.p)}`;
}

/** In round numbers how many samples are nearer, and of how many. */
function nearerOf({ p, nHeldOut }) {
  const larger = Math.round(p * (nHeldOut + 1)) - 1;
  if (larger === 0) return ["all", nHeldOut];
  const of = nHeldOut <= 100 ? nHeldOut : p < 0.01 ? 1000 : 100;
  const nearer = Math.min(Math.round(of * (1 - larger / nHeldOut)), of - 1);
  return [nearer === 0 ? "none" : nearer, of];
}

/** A p-value with two digits. */
function shortP(p) {
  return String(Number(p.toPrecision(2)));
}

/** So many columns are named of a sample. */
const N_NAMED = 3;

/**
 * The columns that make a sample far, as `branchwise transform` has them.
 *
 * @param {import("./trust.js").Told | null} told
 * @param {{names: string[], day_zero: (string | null)[]}} columns
 */
export function driverWords(told, { names, day_zero: first }) {
  const words = (told?.drivers ?? []).map(({ column: j, value, expected }) =>
    Number.isNaN(value) || Number.isNaN(expected)
      ? names[j]
      : `${names[j]} ${written(value, first[j])} (expected ${written(expected, first[j])})`,
  );
  // A category has several columns.
  return [...new Set(words)].join("; ");
}

/**
 * The columns that lie beyond the training table.
 *
 * @param {import("./trust.js").Told | null} told
 * @param {{names: string[], day_zero: (string | null)[]}} columns
 */
export function rangeWords(told, { names, day_zero: first }) {
  const all = told?.outside ?? [];
  const words = all
    .slice(0, N_NAMED)
    .map(
      ({ column: j, value, low, high }) =>
        `${names[j]} ${written(value, first[j])} (${between(low, high, first[j])})`,
    );
  const more = all.length - N_NAMED;
  return [...words, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** A range in words. */
function between(low, high, first) {
  if (low === high) return `always ${written(low, first)} in the fit`;
  return `${written(low, first)} to ${written(high, first)}`;
}

/** Dates further away are told as numbers of days. */
const MOST_DAYS = 4e5;

/**
 * A value with so many digits, or four; days since a first one as a date.
 *
 * @param {number} value
 * @param {string | null} first  The date of day 0.
 * @param {(value: number) => string} [number]
 */
export function written(value, first, number = fourDigits) {
  if (first === null || !(Math.abs(value) <= MOST_DAYS)) return number(value);
  const seconds = Math.floor(instant(first) / 1e6) + Math.round(86400 * value);
  return new Date(1000 * Math.floor(seconds)).toISOString().slice(0, 10);
}

/**
 * Which features a table does not have.
 *
 * @param {string[]} absent  In quotation marks.
 * @param {number} nFeatures
 */
export function absentWords(absent, nFeatures) {
  return (
    `The table has no values of ${absent.length} of the ${nFeatures} features: ` +
    `${listed(absent, 10)}; its samples are placed by the others.`
  );
}

/**
 * A number as Python's format ".4g" writes it.
 *
 * @param {number} value
 */
export function fourDigits(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  // All digits there are, so that a number halfway between two goes to the even one as in Python.
  const [digits, power] = Math.abs(value).toExponential(100).split("e");
  const all = digits.replace(".", "");
  let four = Number(all.slice(0, 4));
  const rest = all.slice(4);
  const isHalf = /^50*$/.test(rest);
  if (isHalf ? four % 2 === 1 : rest >= "5") four += 1;
  let exponent = Number(power);
  if (four === 10000) [four, exponent] = [1000, exponent + 1];
  const sign = value < 0 ? "-" : "";
  const text = String(four);
  const plain = (whole) => whole.replace(/\.?0+$/, "");
  if (exponent >= -4 && exponent < 0) {
    return `${sign}0.${"0".repeat(-exponent - 1)}${text.replace(/0+$/, "")}`;
  }
  if (exponent >= 0 && exponent < 4) {
    const whole = text.slice(0, exponent + 1);
    const part = text.slice(exponent + 1).replace(/0+$/, "");
    return `${sign}${whole}${part && "."}${part}`;
  }
  const size = String(Math.abs(exponent)).padStart(2, "0");
  const mantissa = plain(`${text[0]}.${text.slice(1)}`);
  return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
}

/**
 * A text in quotation marks, as Python shows one.
 *
 * @param {string} text
 */
export function quoted(text) {
  return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text}'`;
}

/**
 * A list for a message, with an end.
 *
 * @param {string[]} texts
 * @param {number} [most]
 */
export function listed(texts, most = 5) {
  const rest = texts.length > most ? ` and ${texts.length - most} more` : "";
  return texts.slice(0, most).join(", ") + rest;
}
