/**
 * New samples from a table of text: columns by name, as branchwise.preprocessing.columns finds them.
 *
 * @typedef {object} NewSamples
 * @property {string[]} ids
 * @property {Float64Array[]} rows  The features of each, in the order of model.features.
 * @property {(string | number)[][]} covariates  Of each, in the order of model.covariates.
 * @property {{id: string, row: number, column: string}[]} dropped  Left out, as a value is missing:
 *   the number of the data row, from 1 on, and the first such column.
 */

import { isMissing, parseNumber, parseTable } from "./csv.js";
import { listed, quoted } from "./messages.js";
import { encodeCovariates } from "./prepare.js";

/** Names of a first column that names samples: frames.ID_NAME. */
const ID_NAME = new RegExp(
  "^((.+[ _.-])?id|index|row_?names" +
    "|(sample|cell|barcode|patient|subject|participant|donor)s?" +
    "([ _.-]?(id|name|barcode|no|nr|number))?)$",
);
const UNNAMED = ["", "Unnamed: 0"];

/**
 * The samples in a text, ready to be placed.
 *
 * Columns are found by name, in any order; others are ignored. Without a header, a row of numbers
 * is taken in the order of the features.
 *
 * @param {string} text
 * @param {any} model  state.model of the page.
 * @param {{usual?: string}} [hints]  The separator that the name of a file tells.
 * @returns {NewSamples}
 */
export function readSamples(text, model, { usual = "" } = {}) {
  const needed = [...model.features, ...model.covariates].map((name) => name.trim());
  const table = parseTable(text, { usual, known: needed });
  if (table.rows.length === 0) {
    throw new Error("the table has a header but no rows; it needs at least one sample.");
  }
  const columns = table.names === null ? inOrder(table, model) : byName(table.names, needed);
  const id = idColumn(table, columns);
  const adjust = model.steps.find((step) => step.name === "adjust");
  const samples = table.rows.map((cells, i) => ({
    id: id >= 0 && !isMissing(cells[id]) ? cells[id].trim() : `new ${i + 1}`,
    row: i + 1,
    values: readFeatures(cells, columns, model.features, table.decimal, i + 1),
    covariates: model.covariates.map((name, k) => {
      const cell = cells[columns[model.features.length + k]];
      return readCovariate(cell, name, adjust.levels[k], table.decimal, i + 1);
    }),
  }));
  const isImputed = model.steps.some((step) => step.name === "impute");
  const [kept, dropped] = withoutGaps(samples, model, isImputed);
  checkValues(kept, model);
  for (const { covariates } of adjust === undefined ? [] : kept) {
    encodeCovariates(adjust, covariates);
  }
  return {
    ids: kept.map((sample) => sample.id),
    rows: kept.map((sample) => sample.values),
    covariates: kept.map((sample) => sample.covariates),
    dropped,
  };
}

/**
 * The column of each name that is needed.
 *
 * @param {string[]} names
 * @param {string[]} needed
 */
function byName(names, needed) {
  const at = new Map(names.map((name, k) => [name, k]));
  const missing = needed.filter((name) => !at.has(name));
  if (missing.length > 0) {
    throw new Error(
      `the table lacks ${missing.length} of the ${needed.length} columns that were there in fit: ` +
        `${listed(missing.map(quoted))}; add them, or name them as in fit.`,
    );
  }
  const wanted = new Set(needed);
  const repeated = names.filter((name, k) => at.get(name) !== k && wanted.has(name));
  if (repeated.length > 0) {
    throw new Error(
      `column names must be unique, but ${listed(repeated.map(quoted))} ` +
        `${repeated.length === 1 ? "is" : "are"} repeated; rename them.`,
    );
  }
  return needed.map((name) => at.get(name));
}

/** The columns of rows without a header: the features in their order, perhaps after an id. */
function inOrder({ rows }, { features, covariates }) {
  const n = features.length;
  const width = rows[0].length;
  if (covariates.length > 0) {
    throw new Error(
      "the first line holds numbers where names of columns should be, and the covariates " +
        `${listed(covariates.map(quoted))} are found by name only; add a header line.`,
    );
  }
  if (width !== n && width !== n + 1) {
    throw new Error(
      `the first line has ${width} values and no names, but must have ${n}, one for each feature ` +
        `(${listed(features.map(quoted))}), or one more before them, an id; add what is ` +
        "lacking, or a header line.",
    );
  }
  return features.map((_, j) => j + width - n);
}

/**
 * The first column, if it is none of those needed and names samples; else −1.
 *
 * @param {import("./csv.js").Table} table
 * @param {number[]} columns
 */
function idColumn({ names, rows }, columns) {
  if (columns.includes(0)) {
    return -1;
  }
  if (names === null || UNNAMED.includes(names[0])) {
    return 0;
  }
  // Measurements with a fraction are not names, whatever the column is called.
  const numbers = rows.map(([cell]) => Number(cell.trim() || NaN));
  const hasFraction = numbers.every(Number.isFinite) && !numbers.every(Number.isInteger);
  return ID_NAME.test(names[0].toLowerCase()) && !hasFraction ? 0 : -1;
}

/** The features of one row; NaN where they are missing. */
function readFeatures(cells, columns, features, decimal, row) {
  return Float64Array.from(features, (name, j) => {
    const value = numberIn(cells[columns[j]], decimal);
    if (value === null) {
      throw new Error(
        `column ${quoted(name)} holds ${quoted(cells[columns[j]].trim())} in data row ${row}, ` +
          "which is no number; mend the cell (an empty cell is a missing value, a decimal sign " +
          "is a point) or leave the row out.",
      );
    }
    return value;
  });
}

/** One covariate of a row: a number, or the text of a level; NaN where it is missing. */
function readCovariate(cell, name, levels, decimal, row) {
  if (levels !== null) {
    return isMissing(cell) && !levels.includes(cell) ? NaN : cell;
  }
  const value = numberIn(cell, decimal);
  if (value === null || Math.abs(value) === Infinity) {
    throw new Error(
      `covariate ${quoted(name)} must hold numbers, as it did in fit, but holds ` +
        `${quoted(cell.trim())} in data row ${row}; mend the cell, or leave the row out.`,
    );
  }
  return value;
}

/** The number in a cell; null if it holds something else. */
function numberIn(cell, decimal) {
  try {
    return parseNumber(cell, decimal);
  } catch {
    return null;
  }
}

/** The samples that can be placed and those that are left out, if missing values are not an error. */
function withoutGaps(samples, model, isImputed) {
  const gapIn = ({ values, covariates }) => {
    const feature = isImputed ? -1 : values.findIndex(Number.isNaN);
    const covariate = covariates.findIndex(Number.isNaN);
    return feature >= 0 ? model.features[feature] : model.covariates[covariate];
  };
  if (!model.drops_missing) {
    checkNoneMissing(samples, model, isImputed);
    return [samples, []];
  }
  const lacking = samples.filter((sample) => gapIn(sample) !== undefined);
  const dropped = lacking.map((sample) => ({
    id: sample.id,
    row: sample.row,
    column: gapIn(sample),
  }));
  return [samples.filter((sample) => gapIn(sample) === undefined), dropped];
}

/** Missing values are an error that counts them by column. */
function checkNoneMissing(samples, { features, covariates }, isImputed) {
  const counts = features.map((_, j) =>
    samples.reduce((n, { values }) => n + (Number.isNaN(values[j]) ? 1 : 0), 0),
  );
  const columns = [...counts.keys()].filter((j) => counts[j] > 0);
  if (columns.length > 0 && !isImputed) {
    const total = counts.reduce((a, b) => a + b, 0);
    columns.sort((a, b) => counts[b] - counts[a] || a - b);
    const told = listed(columns.map((j) => `${quoted(features[j])}: ${counts[j]}`));
    throw new Error(
      `the table has ${total} missing ${total === 1 ? "value" : "values"} in ${columns.length} ` +
        `of ${features.length} columns (${told}), but every value must be known; fill them in, ` +
        "or leave such rows out.",
    );
  }
  covariates.forEach((name, k) => {
    const lacking = samples.filter((sample) => Number.isNaN(sample.covariates[k]));
    if (lacking.length > 0) {
      throw new Error(
        `covariate ${quoted(name)} is missing in ${lacking.length} of ${samples.length} rows, ` +
          `first in data row ${lacking[0].row}, but must be known for all; fill it in, or leave ` +
          "such rows out.",
      );
    }
  });
}

/** Values are finite, and such that the steps can work with them. */
function checkValues(samples, { features, steps }) {
  const takesLogarithms = steps.some((step) => step.name === "log1p");
  const size = Math.max(1, samples.length * features.length);
  const limit = Math.sqrt(Number.MAX_VALUE / (4 * size));
  for (const { values, row } of samples) {
    values.forEach((value, j) => {
      const where = `column ${quoted(features[j])} is ${value} in data row ${row}`;
      if (Math.abs(value) === Infinity) {
        throw new Error(
          `${where}, but every value must be finite; replace such values, or leave the row out.`,
        );
      }
      if (Math.abs(value) > limit) {
        throw new Error(
          `${where}, but values must be at most ${limit.toExponential(1)} in size for sums of ` +
            "their squares not to overflow; mend the cell, or leave the row out.",
        );
      }
      if (takesLogarithms && value <= -1) {
        throw new Error(
          `${where}, but log1p=True needs values above -1; give values as they were measured, ` +
            "not their logarithms or scores.",
        );
      }
    });
  }
}
