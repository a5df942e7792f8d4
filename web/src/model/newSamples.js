/**
 * New samples from a table of text: columns by name, as branchwise.preprocessing.columns finds them.
 *
 * @typedef {object} NewSamples
 * @property {string[]} ids
 * @property {Float64Array[]} rows  The features of each, in the order of model.features; where the
 *   model encodes some of them, what they become.
 * @property {(string | number)[][]} covariates  Of each, in the order of model.covariates.
 * @property {{id: string, row: number, column: string}[]} dropped  Left out, as a value is missing:
 *   the number of the data row, from 1 on, and the first such column; "" if all of them are missing.
 * @property {string[]} absent  Features that the table does not have; an age is one.
 * @property {string[]} without  These, and of several samples those that none has a value of, as
 *   they are told.
 * @property {number} nFeatures  Of the model.
 */

import { ID_NAME, UNNAMED, isMissing, isNoNumber, parseNumber, parseTable } from "./csv.js";
import { FIRST_YEAR, LAST_YEAR, instant, isBeyond } from "./dates.js";
import { listed, quoted } from "./messages.js";
import { codeOf, encodeCovariates, encodeRow } from "./prepare.js";

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
  const needed = [...model.features, ...model.covariates].map((name) =>
    name.trim().normalize("NFC"),
  );
  const table = parseTable(text, { usual, known: needed, decimal: model.decimal });
  if (table.rows.length === 0) {
    throw new Error("the table has a header but no rows; it needs at least one sample.");
  }
  const takesGaps = Boolean(model.trust);
  const columns =
    table.names === null
      ? inOrder(table, model)
      : byName(table.names, needed, takesGaps ? model.features.length : 0);
  const id = idColumn(table, columns);
  const adjust = model.steps.find((step) => step.name === "adjust");
  const encode = model.steps.find((step) => step.name === "encode");
  const samples = table.rows.map((cells, i) => ({
    id: id >= 0 && !isMissing(cells[id]) ? cells[id].trim() : `new ${i + 1}`,
    row: i + 1,
    ...readFeatures(cells, columns, model.features, encode, table, i + 1),
    covariates: model.covariates.map((name, k) => {
      const cell = cells[columns[model.features.length + k]];
      return readCovariate(cell, name, adjust.levels[k], table, i + 1);
    }),
  }));
  checkCovariates(samples, model);
  const made = featuresOf(model.features, encode);
  const [kept, dropped] = takesGaps ? withSomeValue(samples, made) : withoutGaps(samples, model);
  // What becomes of a sample must not depend on the others.
  const absent = made.filter(({ of }) => of.some((j) => columns[j] < 0));
  const empty = made.filter((feature) => samples.every((sample) => lacks(sample, feature)));
  if (takesGaps && empty.length === made.length) {
    throw new Error(
      `the table has no values of any of the ${empty.length} features ` +
        `(${listed(empty.map(({ words }) => words))}), but samples are placed by these; add some, ` +
        "or name them as in fit.",
    );
  }
  const problems = [...strangeLevels(kept, encode), ...strangeDates(kept, model.features, encode)];
  if (problems.length > 0) throw new Error(problems.join(" Also: "));
  checkValues(kept, model);
  for (const { covariates } of adjust === undefined ? [] : kept) {
    encodeCovariates(adjust, covariates);
  }
  return {
    ids: kept.map((sample) => sample.id),
    rows: kept.map(({ values }) => (encode ? encodeRow(encode, Array.from(values)) : values)),
    covariates: kept.map((sample) => sample.covariates),
    dropped,
    absent: absent.map(({ name }) => name),
    without: (samples.length > 1 ? empty : absent).map(({ words }) => words),
    nFeatures: made.length,
  };
}

/**
 * What a model learned from, what it is made of, by the places of columns, and how it is told: an age
 * is one feature of two columns.
 *
 * @param {string[]} features
 * @param {any} [encode]  The step of that name.
 * @returns {{name: string, of: number[], words: string}[]}
 */
function featuresOf(features, encode) {
  const { kinds = [], ages = [] } = encode ?? {};
  const plain = features.map((name, j) => ({ name, of: [j], words: quoted(name) }));
  const years = ages.map(([name, ...ends]) => ({
    name,
    of: ends.map((end) => features.indexOf(end)),
    words: `${quoted(name)} (from ${ends.map(quoted).join(" and ")})`,
  }));
  return [...plain.filter((_, j) => kinds[j] !== "end of an age"), ...years];
}

/** Whether a sample has no value of a feature. */
function lacks({ values }, { of }) {
  return of.some((j) => isGap(values[j]));
}

/** @param {number} value */
function isGap(value) {
  return Number.isNaN(value);
}

/**
 * The column of each name that is needed; −1 of one that may be missing.
 *
 * @param {string[]} names
 * @param {string[]} needed
 * @param {number} nSpared  So many of the first may be missing, but not all.
 */
function byName(names, needed, nSpared) {
  const at = new Map(names.map((name, k) => [name, k]));
  const isSpared = needed.slice(0, nSpared).some((name) => at.has(name));
  const missing = needed.filter((name, k) => !at.has(name) && !(isSpared && k < nSpared));
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
  return needed.map((name) => at.get(name) ?? -1);
}

/** The columns of rows without a header: the features in their order, perhaps after an id. */
function inOrder({ rows }, { features, covariates, steps }) {
  const n = features.length;
  const width = rows[0].length;
  if (steps.some((step) => step.name === "encode")) {
    throw new Error(
      "the first line holds numbers where names of columns should be, and categories and dates " +
        "are found by name only; add a header line.",
    );
  }
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
  if (names === null || UNNAMED.has(names[0])) {
    return 0;
  }
  // Measurements with a fraction are not names, whatever the column is called.
  const numbers = rows.map(([cell]) => Number(cell.trim() || NaN));
  const hasFraction = numbers.every(Number.isFinite) && !numbers.every(Number.isInteger);
  return ID_NAME.test(names[0].toLowerCase()) && !hasFraction ? 0 : -1;
}

/**
 * The features of one row: numbers, the number of a level, or microseconds since 1970; NaN where they
 * are missing. And the cells that are levels or dates for nobody, by column.
 */
function readFeatures(cells, columns, features, encode, style, row) {
  const [strange, undated] = [new Map(), new Map()];
  const values = Float64Array.from(features, (name, j) => {
    if (columns[j] < 0) return NaN;
    const [cell, kind] = [cells[columns[j]], encode?.kinds[j] ?? "number"];
    if (kind === "number") {
      return readNumber(cell, name, style, row);
    }
    const levels = encode.levels[j];
    if (levels ? isMissing(cell) : isNoNumber(cell)) {
      return NaN;
    }
    if (levels) {
      const level = codeOf(cell, levels);
      if (level < 0) {
        strange.set(j, cell.trim());
      }
      return level;
    }
    const when = instant(cell, encode.orders[j]);
    if (when === null || Number.isNaN(when)) {
      undated.set(j, { text: cell, isOpen: when !== null });
    }
    return when || 0;
  });
  return { values, strange, undated };
}

/** The number in a cell of a feature. */
function readNumber(cell, name, style, row) {
  const value = numberIn(cell, style);
  if (value === null) {
    throw new Error(
      `column ${quoted(name)} holds ${quoted(cell.trim())} in data row ${row}, which is not a ` +
        "number; mend the cell (an empty cell is a missing value, a decimal sign is a point) or " +
        "leave the row out.",
    );
  }
  return value;
}

/** What is not a date, in a sentence, if there is any: as branchwise.preprocessing.encoding says it. */
function strangeDates(samples, features, encode) {
  const told = features.flatMap((name, j) => {
    const all = samples.filter(({ undated }) => undated.has(j));
    const wrong = all.filter(({ undated }) => !undated.get(j).isOpen);
    const [bad, what] = wrong.length
      ? [wrong, "which is not a date"]
      : [all, "of which the day and the month cannot be told apart"];
    if (bad.length === 0) {
      return [];
    }
    const more = bad.length > 1 ? ` (${bad.length} such cells)` : "";
    const { text } = bad[0].undated.get(j);
    const order = encode.orders[j];
    const first = order === "dmy" ? "day" : "month";
    const isTurned = wrong.length > 0 && order !== null && instant(text) !== null;
    const isBad = wrong.length > 0 && isBeyond(text);
    const reason = isBad ? `whose year is not between ${FIRST_YEAR} and ${LAST_YEAR}` : what;
    const why = isTurned ? ` with the ${first} first, as dates of the fit have it` : "";
    return [
      `column ${quoted(name)} holds ${quoted(text)} in data row ${bad[0].row}, ${reason}${why}${more}`,
    ];
  });
  if (told.length === 0) {
    return [];
  }
  return [
    `${told.join("; ")}; write dates as 2024-03-31 (year, month, day), empty the cells if they are ` +
      "not known, or leave the column out.",
  ];
}

/** Ways to write no and yes; which one is meant by another only a person knows. */
const NO_YES = [
  ["0", "1"],
  ["false", "true"],
  ["no", "yes"],
  ["n", "y"],
];

/** What levels may mean that are another way to write yes and no; nothing of all others. */
function yesNoHint(name, others, levels) {
  const small = levels.map((level) => level.toLowerCase());
  const meant = NO_YES.find((pair) => pair.every((word) => small.includes(word)));
  const written = NO_YES.find((pair) => others.every((text) => pair.includes(text.toLowerCase())));
  if (!meant || !written || levels.length > 2) return "";
  const known = meant.map((word) => levels[small.indexOf(word)]);
  return ` Are ${written.join(" and ")} of ${quoted(name)} ${known.join(" and ")}? Write them so.`;
}

/** Levels that the fit did not know, in a sentence: as branchwise.preprocessing.levels says it. */
function strangeLevels(samples, encode) {
  const wrong = samples.filter(({ strange }) => strange.size > 0);
  if (wrong.length === 0) {
    return [];
  }
  const hints = [];
  const told = encode.columns.flatMap((name, j) => {
    const mine = wrong.filter(({ strange }) => strange.has(j));
    if (mine.length === 0) {
      return [];
    }
    const others = [...new Set(mine.map(({ strange }) => strange.get(j)))];
    hints.push(yesNoHint(name, others, encode.levels[j]));
    return [
      `${quoted(name)} has ${listed(others.map(quoted))} in ${rowsOf(mine.length)}, first in data ` +
        `row ${mine[0].row} (known: ${listed(encode.levels[j].map(quoted), 10)})`,
    ];
  });
  return [
    `${wrong.length} of ${rowsOf(samples.length)} ` +
      `${wrong.length === 1 ? "has a level" : "have levels"} that the fit did not know: ` +
      `${listed(told)}; mend these cells, empty them if the value is not known, leave the rows ` +
      `out, or fit again with samples of these levels.${hints.join("")}`,
  ];
}

/** A number of rows. */
function rowsOf(n) {
  return `${n} ${n === 1 ? "row" : "rows"}`;
}

/** One covariate of a row: a number, or the text of a level; NaN where it is missing. */
function readCovariate(cell, name, levels, style, row) {
  if (levels !== null) {
    return isMissing(cell) && !levels.includes(cell) ? NaN : cell;
  }
  const value = numberIn(cell, style);
  if (value === null || Math.abs(value) === Infinity) {
    throw new Error(
      `covariate ${quoted(name)} must hold numbers, as it did in fit, but holds ` +
        `${quoted(cell.trim())} in data row ${row}; mend the cell, or leave the row out.`,
    );
  }
  return value;
}

/** The number in a cell of a table of this style; null if it holds something else. */
function numberIn(cell, style) {
  try {
    return parseNumber(cell, style.decimal, style.grouping);
  } catch {
    return null;
  }
}

/** The samples that have some value, and those that have none. */
function withSomeValue(samples, made) {
  const isEmpty = (sample) => made.every((feature) => lacks(sample, feature));
  const dropped = samples.filter(isEmpty).map(({ id, row }) => ({ id, row, column: "" }));
  return [samples.filter((sample) => !isEmpty(sample)), dropped];
}

/**
 * The same for a model that cannot place samples with gaps: they are left out if the fit left such
 * samples out, else an error.
 */
function withoutGaps(samples, { features, steps, drops_missing: drops }) {
  if (steps.some((step) => step.name === "impute")) return [samples, []];
  const gapIn = ({ values }) => values.findIndex(isGap);
  const lacking = samples.filter((sample) => gapIn(sample) >= 0);
  if (lacking.length > 0 && !drops) throw new Error(gapsMessage(lacking, features));
  const dropped = lacking.map((sample) => {
    return { id: sample.id, row: sample.row, column: features[gapIn(sample)] };
  });
  return [samples.filter((sample) => gapIn(sample) < 0), dropped];
}

/** What is missing, counted by column. */
function gapsMessage(samples, features) {
  const counts = features.map((_, j) => samples.filter(({ values }) => isGap(values[j])).length);
  const columns = [...counts.keys()].filter((j) => counts[j] > 0);
  const total = counts.reduce((a, b) => a + b, 0);
  columns.sort((a, b) => counts[b] - counts[a] || a - b);
  const told = listed(columns.map((j) => `${quoted(features[j])}: ${counts[j]}`));
  return (
    `the table has ${total} missing ${total === 1 ? "value" : "values"} in ${columns.length} of ` +
    `${features.length} columns (${told}), and this page does not know how the samples of the fit ` +
    "scatter, which placing with gaps needs; fill them in, leave such rows out, or fit again."
  );
}

/** What is adjusted for is known of every sample. */
function checkCovariates(samples, { covariates }) {
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
  const encode = steps.find((step) => step.name === "encode");
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
      const isNumber = !encode || encode.kinds[j] === "number";
      if (takesLogarithms && isNumber && value <= -1) {
        throw new Error(
          `${where}, but log1p=True needs values above -1; give values as they were measured, ` +
            "not their logarithms or scores.",
        );
      }
    });
  }
}
