/**
 * The fitted steps of a preparation, repeated on a row: the twin of branchwise.preprocessing.steps.
 *
 * All operations but the logarithm are those of Python in the same order, so that a row becomes
 * the same to the last bit.
 *
 * @typedef {{name: string, [key: string]: any}} Step  One of model.steps.
 */

import { listed, quoted } from "./messages.js";

/**
 * A row of features after all steps.
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

/** @type {Record<string, (step: Step, x: Float64Array, covariates: any[]) => Float64Array>} */
const STEPS = {
  impute: ({ medians }, x) => x.map((value, j) => (Number.isNaN(value) ? medians[j] : value)),
  log1p: (_, x) => x.map((value) => Math.log1p(value)),
  rank_normalize: normalScores,
  adjust: residuals,
  standardize: ({ mean, scale }, x) =>
    x.map((value, j) => (scale[j] > 0 ? (value - mean[j]) / scale[j] : 0)),
  pca: alongAxes,
};

/**
 * Scores interpolated in a table for each feature: exact at its values, constant beyond them.
 *
 * @param {Step} step
 * @param {Float64Array} x
 */
function normalScores({ values, scores, offsets }, x) {
  return x.map((value, j) => {
    const [first, last] = [offsets[j], offsets[j + 1] - 1];
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
  return x.map((value, k) => (step.is_explained[k] ? step.mean[k] : value - explained[k]));
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

/**
 * The number of a level, or −1. Whole numbers and truth values may be spelt in several ways.
 *
 * @param {string} text
 * @param {string[]} levels
 */
function levelOf(text, levels) {
  const word = text.trim();
  const isWhole = /^[+-]?\d+(\.0*)?$/.test(word);
  const isTruth = /^(true|TRUE|false|FALSE)$/.test(word);
  const spellings = [text, word];
  if (isWhole) {
    spellings.push(String(BigInt(word.replace(/^\+|\.0*$/g, ""))));
  }
  if (isTruth) {
    spellings.push(word[0].toUpperCase() + word.slice(1).toLowerCase());
  }
  const spelling = spellings.find((candidate) => levels.includes(candidate));
  return spelling === undefined ? -1 : levels.indexOf(spelling);
}
