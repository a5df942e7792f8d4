/**
 * The fitted steps of a preparation, repeated on a row: the twin of branchwise.preprocessing.steps.
 *
 * All operations but the logarithm, and a tree's means for what is missing, are those of Python in
 * the same order, so that a row becomes the same to the last bit.
 *
 * @typedef {{name: string, [key: string]: any}} Step  One of model.steps.
 */

import { condition, fill } from "./conditional.js";
import { listed, quoted } from "./messages.js";

/**
 * A row of features after all steps.
 *
 * Of a model that encodes columns, the row is what encodeRow makes of it.
 *
 * @param {{steps: Step[]}} model
 * @param {Float64Array} row  NaN for missing values, if the model imputes them.
 * @param {(string | number)[]} [covariates]  What adjust needs, in the order of its names.
 * @returns {Float64Array}
 */
export function prepare(model, row, covariates = []) {
  return model.steps.reduce(
    (x, step) => STEPS[step.name](step, x, covariates),
    Float64Array.from(row),
  );
}

/**
 * A row with gaps after the steps before pca: what is not known stays NaN.
 *
 * @param {{steps: Step[]}} model
 * @param {ArrayLike<number>} row  NaN for missing values, which are not filled.
 * @param {(string | number)[]} [covariates]  All of them known.
 * @returns {Float64Array}
 */
export function prepareKnown(model, row, covariates = []) {
  const steps = model.steps.filter(({ name }) => name !== "impute" && name !== "pca");
  return steps.reduce((x, step) => {
    const made = STEPS[step.name](step, x, covariates);
    // What a step makes of a gap is nothing, even where it makes the same of all values.
    return made.length === x.length ? made.map((v, j) => (Number.isNaN(x[j]) ? NaN : v)) : made;
  }, Float64Array.from(row));
}

/**
 * A row that is prepared but for pca, after it.
 *
 * @param {{steps: Step[]}} model
 * @param {Float64Array} row
 */
export function alongPca({ steps }, row) {
  const pca = steps.find((step) => step.name === "pca");
  return pca === undefined ? row : alongAxes(pca, row);
}

/**
 * The prepared value of a single column, before pca, in the units of the table.
 *
 * @param {{steps: Step[]}} model
 * @param {number} value
 * @param {number} j  The column.
 * @param {(string | number)[]} [covariates]
 */
export function rawValue(model, value, j, covariates = []) {
  return model.steps.reduceRight(
    (x, step) => BACK[step.name]?.(step, x, j, covariates) ?? x,
    value,
  );
}

/** @type {Record<string, (step: Step, x: number, j: number, covariates: any[]) => number>} */
const BACK = {
  log1p: ({ is_number: isNumber }, x, j) => (!isNumber || isNumber[j] ? Math.expm1(x) : x),
  rank_normalize: ({ values, scores, offsets }, x, j) => {
    const knots = scores.subarray(...offsets.subarray(j, j + 2));
    // Contrasts have no ranks.
    return knots.length > 0 ? interpolated(x, knots, values.subarray(offsets[j])) : x;
  },
  adjust: (step, x, j, covariates) => {
    const n = step.mean.length;
    const z = encodeCovariates(step, covariates);
    return z.reduce((sum, v, k) => sum + (v - step.center[k]) * step.coefficients[k * n + j], x);
  },
  standardize: ({ mean, scale }, x, j) => x * scale[j] + mean[j],
};

/** y at x, linear between knots that ascend; beyond them that of the nearest. */
function interpolated(x, knots, y) {
  const k = countUpTo(knots, 0, knots.length, x) - 1;
  if (k < 0) return y[0];
  if (k >= knots.length - 1) return y[knots.length - 1];
  return y[k] + ((y[k + 1] - y[k]) / (knots[k + 1] - knots[k])) * (x - knots[k]);
}

/** @type {Record<string, (step: Step, x: Float64Array, covariates: any[]) => Float64Array>} */
const STEPS = {
  impute: fillGaps,
  // Done where a table is read: see encodeRow.
  encode: (_, x) => x,
  log1p: ({ is_number: isNumber }, x) =>
    x.map((value, j) => (!isNumber || isNumber[j] ? Math.log1p(value) : value)),
  rank_normalize: normalScores,
  adjust: residuals,
  standardize: scaled,
  weigh: scaled,
  pca: alongAxes,
};

/**
 * In units of the standard deviation; 0 for what was constant. A gap stays a gap.
 *
 * @param {Step} step
 * @param {Float64Array} x
 */
function scaled({ mean, scale }, x) {
  const orGap = (value) => (Number.isNaN(value) ? NaN : 0);
  return x.map((value, j) => (scale[j] > 0 ? (value - mean[j]) / scale[j] : orGap(value)));
}

/**
 * Medians, or what a tree makes likely, for what is missing.
 *
 * @param {Step} step
 * @param {Float64Array} x
 */
function fillGaps(step, x) {
  if (!x.some(Number.isNaN)) return x;
  if (step.medians) return x.map((value, j) => (Number.isNaN(value) ? step.medians[j] : value));
  return fillByTree(step, x);
}

/**
 * What a tree makes likely for what is missing; values beyond its limits tell nothing.
 *
 * @param {any} step
 * @param {Float64Array} x
 */
export function fillByTree(step, x) {
  const { low, high } = step;
  const told = x.map((value, j) => (low[j] <= value && value <= high[j] ? value : NaN));
  const full = fill(step, told, condition(step, told));
  return x.map((value, j) => (Number.isNaN(value) ? full[j] : value));
}

/**
 * Scores interpolated in a table for each feature: exact at its values, constant beyond them.
 *
 * @param {Step} step
 * @param {Float64Array} x
 */
function normalScores({ values, scores, offsets }, x) {
  return x.map((value, j) => {
    const [first, last] = [offsets[j], offsets[j + 1] - 1];
    if (Number.isNaN(value) || first > last) {
      return value; // a gap, or a contrast
    }
    if (first === last) {
      return scores[first];
    }
    const within = Math.min(Math.max(value, values[first]), values[last]);
    const k = Math.min(countUpTo(values, first, last + 1, within) - 1, last - 1);
    const part = (within - values[k]) / (values[k + 1] - values[k]);
    return (1 - part) * scores[k] + part * scores[k + 1];
  });
}

/** The place after the last of values[first … end − 1], which ascend, that is at most x. */
function countUpTo(values, first, end, x) {
  let [low, high] = [first, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/**
 * What covariates do not explain, plus the mean; of what they determine, the mean.
 *
 * @param {Step} step
 * @param {Float64Array} x
 * @param {(string | number)[]} covariates
 */
function residuals(step, x, covariates) {
  const z = encodeCovariates(step, covariates);
  const n = x.length;
  const explained = centredProduct(z, step.center, n, (j, k) => step.coefficients[j * n + k]);
  const isConstant = (value, k) => step.is_explained[k] && !Number.isNaN(value);
  return x.map((value, k) => (isConstant(value, k) ? step.mean[k] : value - explained[k]));
}

/**
 * Coordinates along the principal axes.
 *
 * @param {Step} step
 * @param {Float64Array} x
 */
function alongAxes({ mean, components }, x) {
  const n = components.length / x.length;
  return centredProduct(x, mean, n, (j, k) => components[k * x.length + j]);
}

/**
 * (x − center)ᵀW, feature after feature.
 *
 * @param {Float64Array} x
 * @param {Float64Array} center
 * @param {number} n  Columns of W.
 * @param {(j: number, k: number) => number} W
 */
function centredProduct(x, center, n, W) {
  const out = new Float64Array(n);
  for (let j = 0; j < x.length; j += 1) {
    const value = x[j] - center[j];
    for (let k = 0; k < n; k += 1) {
      out[k] += value * W(j, k);
    }
  }
  return out;
}

/**
 * Covariates as numbers: numbers as they are, categories as an indicator for each level but the
 * first.
 *
 * @param {Step} step  That of adjust.
 * @param {(string | number)[]} values  In the order of its names.
 * @returns {Float64Array}
 */
export function encodeCovariates({ names, levels }, values) {
  const encoded = names.flatMap((name, k) => {
    if (levels[k] === null) {
      return [Number(values[k])];
    }
    const level = levelOf(String(values[k]), levels[k]);
    if (level < 0) {
      throw new Error(
        `covariate ${quoted(name)} has the level ${quoted(String(values[k]))}, but its levels in ` +
          `fit were ${listed(levels[k].map(quoted), 20)}; leave such rows out, or fit with ` +
          "samples of that level.",
      );
    }
    return levels[k].slice(1).map((_, j) => (j + 1 === level ? 1 : 0));
  });
  return Float64Array.from(encoded);
}

const MICROSECONDS = 86_400_000_000; // of a day
const DAYS_OF_A_YEAR = 365.25;

/**
 * What a row of a table becomes before all other steps: the twin of Encoding.apply.
 *
 * @param {Step} step  That of encode.
 * @param {number[]} values  In the order of its columns: numbers as they are, of categories and
 *   ordered ones the number of the level, of dates microseconds since 1970; NaN where missing.
 * @returns {Float64Array}
 */
export function encodeRow({ columns, kinds, levels, shares, firsts, ages }, values) {
  let taken = 0;
  const encoded = values.flatMap((value, j) => {
    if (kinds[j] === "category") {
      const own = Array.from(shares.slice(taken, taken + levels[j].length));
      taken += own.length;
      return contrasts(value, own);
    }
    if (kinds[j] === "date") {
      return [(value - firsts[j]) / MICROSECONDS];
    }
    return kinds[j] === "end of an age" ? [] : [value];
  });
  const at = (name) => values[columns.indexOf(name)];
  const years = ages.map(([, start, end]) => (at(end) - at(start)) / MICROSECONDS / DAYS_OF_A_YEAR);
  return Float64Array.from([...encoded, ...years]);
}

/**
 * Each level beside those that are more frequent: the twin of encoding.contrasts.
 *
 * @param {number} level  NaN if it is missing.
 * @param {number[]} shares
 */
function contrasts(level, shares) {
  if (Number.isNaN(level)) return Array(Math.max(1, shares.length - 1)).fill(NaN);
  if (shares.length === 1) return [0];
  // Sorting keeps the order of equals, as in Python.
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]);
  const place = order.indexOf(level);
  let before = shares[order[0]];
  return order.slice(1).map((k, i) => {
    const [p, above, j] = [shares[k], before, i + 1];
    before += p;
    if (place > j) return 0;
    return place === j ? Math.sqrt(above / (before * p)) : -Math.sqrt(p / (above * before));
  });
}

const WHOLE = /^[+-]?(0|[1-9]\d*)(\.0*)?$/;
const DECIMAL = /^[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const TRUTH = /^(true|TRUE|false|FALSE)$/;

/**
 * The number of a level, or −1, however a number or a truth value is written.
 *
 * @param {string} text
 * @param {string[]} levels
 */
export function levelOf(text, levels) {
  return levels.map(asLevel).lastIndexOf(asLevel(text));
}

/** Truth values as formats have them: text files and Excel the words, Stata and SPSS the numbers. */
const TRUTHS = [
  ["False", "True"],
  ["0", "1"],
];

/**
 * The number of a level of a feature, or −1; where truth values are the levels, in either way to
 * write them: the twin of branchwise.preprocessing.levels.codes_in.
 *
 * @param {string} text
 * @param {string[]} levels
 */
export function codeOf(text, levels) {
  const found = levelOf(text, levels);
  const known = TRUTHS.findIndex((pair) => pair.every((level) => levels.includes(level)));
  if (found >= 0 || known < 0 || levels.length > 2) return found;
  const which = TRUTHS[1 - known].indexOf(asLevel(text));
  return which < 0 ? -1 : levels.indexOf(TRUTHS[known][which]);
}

/**
 * The name of a level: the twin of branchwise.data.categories.as_level.
 *
 * @param {string} text
 */
export function asLevel(text) {
  const word = text.trim().normalize("NFC");
  if (WHOLE.test(word)) {
    return word.replace(/\..*$/, "").replace("+", "").replace("-0", "0");
  }
  if (DECIMAL.test(word)) {
    const number = Number(word);
    return Math.abs(number) < 2 ** 53 ? String(number) : word;
  }
  return TRUTH.test(word) ? word[0].toUpperCase() + word.slice(1).toLowerCase() : word;
}
