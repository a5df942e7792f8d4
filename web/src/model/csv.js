/**
 * Tables of text: the twin of branchwise.io.text and of the numbers of branchwise.io.frames.
 *
 * @typedef {object} Table
 * @property {string[] | null} names  Of the columns; null for rows of numbers without a header.
 * @property {string[][]} rows
 * @property {string} separator
 * @property {"." | ","} decimal
 * @property {"." | "," | ""} grouping  The sign that may stand between thousands.
 */

/** Missing in every column. */
const MISSING = new Set(["", ..."NA N/A n/a #N/A NaN nan NULL null <NA>".split(" ")]);
/** Missing among numbers and dates: in a column of words these may be words ("None" is a therapy). */
const MISSING_AMONG_NUMBERS = new Set([
  ..."- -- . .. ? * none missing unknown nd n.d. n.a. na nan n/a null <na>".split(" "),
  ..."#n/a #value! #ref! #div/0! #num! #name? #null! #getting_data #spill! #calc!".split(" "),
]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const INFINITE = /^([+-]?)inf(inity)?$/i;
const NOT_A_NUMBER = /^[+-]?nan$/i;
const DECIMAL_COMMA = /^\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*$/;
const DECIMAL_POINT = /^\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*$/;
const THOUSANDS = /^\s*[+-]?\d{1,3}(,\d{3})+\s*$/;
/** With points between thousands: maybe, and without doubt. */
const MAYBE_GROUPED = /^\s*[+-]?[1-9]\d{0,2}(\.\d{3})+\s*$/;
const GROUPED_COMMA = /^\s*[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+\s*$/;
/** By the sign between thousands: the twin of branchwise.io.grouped. */
const GROUPED = {
  ".": /^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?$/,
  ",": /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/,
};
/** What spreadsheets take for a formula, or skip before they look for one; apostrophes may precede. */
const FORMULA = /^'*[=+\-@\t\r\n]/;
/** Names of a first column that names samples: judging.ID_NAME. */
export const ID_NAME = new RegExp(
  "^((.+[ _.-])?id|index|row_?names" +
    "|(sample|cell|barcode|patient|subject|participant|donor)s?" +
    "([ _.-]?(id|name|barcode|no|nr|number))?)$",
);
export const UNNAMED = new Set(["", "Unnamed: 0"]);
const SEPARATORS = [",", ";", "\t"];
/** Rows in which a decimal comma is looked for. */
const N_SNIFFED = 200;

/**
 * Read a table, separated by commas, semicolons or tabs.
 *
 * Blank lines, and rows of separators at the end, are left out. Every row has as many cells as the
 * first.
 *
 * @param {string} text
 * @param {{usual?: string, known?: string[], decimal?: "." | ","}} [hints]  The separator that the
 *   name of a file tells (",", or "\t" of .tsv and .txt), names of columns that make a first line a
 *   header, and the decimal sign where the table leaves it open.
 * @returns {Table}
 */
export function parseTable(text, { usual = "", known = [], decimal: usualSign = "." } = {}) {
  const clean = text.replace(/^\uFEFF/, "");
  const separator = chooseSeparator(clean, usual, known);
  const records = readRecords(clean, separator);
  if (records.length === 0) {
    throw new Error(
      "there is no text to read; paste a table with a header and at least one row, or choose a " +
        "file.",
    );
  }
  const lines = records.map((record) => record.cells);
  const isHeader = hasHeader(lines, known);
  const decimal = chooseDecimal(isHeader ? lines.slice(1) : lines, separator, usualSign);
  const names = isHeader ? lines[0].map((name) => name.trim().normalize("NFC")) : null;
  if (isHeader && hasRowNames(names, lines[1] ?? [])) {
    names.unshift("");
  }
  const width = isHeader ? names.length : lines[0].length;
  const data = withoutEmptyEnd(isHeader ? records.slice(1) : records);
  const rows = data.map((record) => cellsOf(record, width, isHeader));
  const grouping = decimal === "," ? "." : separator === "," ? "," : "";
  return { names, rows, separator, decimal, grouping };
}

/**
 * Whether rows begin with a cell that the header does not name, as R writes names of rows.
 *
 * Where the header begins with a name of such a column, or has one name only, a cell too many is
 * something else: a decimal comma, for instance.
 *
 * @param {string[]} names
 * @param {string[]} first
 */
function hasRowNames(names, first) {
  if (first.length !== names.length + 1 || first.at(-1).trim() === "") {
    return false;
  }
  return names.length > 1 && !UNNAMED.has(names[0]) && !ID_NAME.test(names[0].toLowerCase());
}

/**
 * The records of a text that are not blank lines, each with the number of its last line.
 *
 * Cells may stand in quotation marks, which are doubled inside (RFC 4180).
 *
 * @param {string} text
 * @param {string} separator
 * @param {number} [most]  So many are read at most.
 * @returns {{cells: string[], line: number}[]}
 */
function readRecords(text, separator, most = Infinity) {
  const records = [];
  let [cells, cell, line, at] = [[], "", 1, 0];
  let [opened, isQuoted] = [0, false];
  const finish = () => {
    cells.push(cell);
    if (cells.length > 1 || isQuoted || cell.trim() !== "") {
      records.push({ cells, line });
    }
    [cells, cell, isQuoted] = [[], "", false];
  };
  const isBreak = (sign) => sign === "\n" || sign === "\r";
  while (at < text.length && records.length < most) {
    const sign = text[at];
    if (opened > 0) {
      if (sign === '"' && text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else if (sign === '"') {
        opened = 0;
      } else {
        cell += sign;
        line += sign === "\n" ? 1 : 0;
      }
    } else if (sign === '"' && cell === "") {
      [opened, isQuoted] = [line, true];
    } else if (sign === separator) {
      cells.push(cell);
      cell = "";
    } else if (isBreak(sign)) {
      finish();
      line += 1;
      at += sign === "\r" && text[at + 1] === "\n" ? 1 : 0;
    } else {
      cell += sign;
    }
    at += 1;
  }
  if (opened > 0) {
    throw new Error(
      `the table cannot be read to its end (a quotation mark was opened in line ${opened}); look ` +
        "for a quotation mark without its partner.",
    );
  }
  if (records.length < most && (cells.length > 0 || isQuoted || cell !== "")) {
    finish();
  }
  return records;
}

/**
 * The separator that leaves the most of the known names; or the usual one, if it occurs.
 *
 * Otherwise that of a line of numbers is the one that leaves numbers, a tab comes from a
 * spreadsheet, and of the others the one that occurs most often separates.
 *
 * @param {string} text
 * @param {string} usual
 * @param {string[]} known
 */
function chooseSeparator(text, usual, known) {
  const first = new Map();
  for (const separator of SEPARATORS) {
    first.set(separator, readRecords(text, separator, 1)[0]?.cells ?? [text]);
  }
  const wanted = new Set(known);
  const width = (sign) => first.get(sign).length;
  const nKnown = (sign) => first.get(sign).filter((cell) => wanted.has(cell.trim())).length;
  const isBetter = (a, b) => (nKnown(a) - nKnown(b) || width(a) - width(b)) > 0;
  const best = SEPARATORS.reduce((a, b) => (isBetter(b, a) ? b : a));
  if (nKnown(best) > 0) {
    return best;
  }
  const isSplit = (sign) => first.has(sign) && width(sign) > 1;
  const leavesNumbers = (sign) => areNumbers(first.get(sign).slice(1));
  return (
    [usual].find(isSplit) ??
    ["\t", ";", ","].find((sign) => isSplit(sign) && leavesNumbers(sign)) ??
    ["\t"].find(isSplit) ??
    best
  );
}

/**
 * Whether all cells are numbers or missing, with a number among them.
 *
 * @param {string[]} cells
 */
function areNumbers(cells) {
  const values = cells.map(asNumber);
  return !values.includes(null) && values.some((value) => !Number.isNaN(value));
}

/** The number that a text spells with a decimal point or comma; NaN if missing, null if none. */
function asNumber(text) {
  try {
    return parseNumber(text, text.includes(".") ? "." : ",");
  } catch {
    return null;
  }
}

/**
 * Whether the first line names the columns.
 *
 * @param {string[][]} lines
 * @param {string[]} known
 */
function hasHeader(lines, known) {
  const cells = lines[0].map((cell) => cell.trim());
  const here = new Set(cells);
  if (known.length > 0 && known.every((name) => here.has(name))) {
    return true;
  }
  const isStrange = known.length > 0 && !known.some((name) => here.has(name));
  const rest = cells.slice(1);
  if (!areNumbers(rest) && !areNumbers(cells)) {
    // A row of numbers in which one is misspelt is still no header.
    return !isStrange || rest.filter((cell) => asNumber(cell) !== null).length < rest.length / 2;
  }
  // Numbers alone are not a header without rows, nor where other names are known.
  if (lines.length === 1 || isStrange) {
    return false;
  }
  const numbers = cells.map(asNumber);
  if (numbers[0] === null || cells[0] === "") {
    // Names such as 1234 (a gene) or 400.5, 401 (a spectrum) are fine; 0.31, 0.27 are values.
    const values = numbers.slice(1);
    const hasFraction = values.some((value) => !Number.isInteger(value));
    const falls = values.some((value, k) => k > 0 && !(value > values[k - 1]));
    return cells[0] === "" || values.length < 2 || !(hasFraction && falls);
  }
  // 0, 1, 2, … is what pandas writes for columns without names.
  return numbers.every((value, k) => value === k);
}

/**
 * A comma, if it is not the separator and numbers are written with it and never with a point.
 *
 * Commas that may all stand between thousands decide nothing, nor do such points. 1.234,5 does.
 * Where nothing decides it is the usual sign.
 *
 * @param {string[][]} rows
 * @param {string} separator
 * @param {"." | ","} usual
 * @returns {"." | ","}
 */
function chooseDecimal(rows, separator, usual) {
  if (separator === ",") {
    return ".";
  }
  const cells = rows.slice(0, N_SNIFFED).flat();
  if (cells.some((cell) => DECIMAL_POINT.test(cell) && !MAYBE_GROUPED.test(cell))) {
    return ".";
  }
  const commas = cells.filter((cell) => DECIMAL_COMMA.test(cell));
  const isClear = !commas.every((cell) => THOUSANDS.test(cell));
  return isClear || cells.some((cell) => GROUPED_COMMA.test(cell)) ? "," : usual;
}

/** The records without those of separators that spreadsheets leave at the end. */
function withoutEmptyEnd(records) {
  let n = records.length;
  while (n > 0 && records[n - 1].cells.every((cell) => isMissing(cell))) {
    n -= 1;
  }
  return records.slice(0, n);
}

/** The cells of a record, one for each column. */
function cellsOf({ cells, line }, width, isHeader) {
  const extra = cells.slice(width);
  if (cells.length < width || extra.some((cell) => cell.trim() !== "")) {
    const columns = width === 1 ? "column" : "columns";
    const values = cells.length === 1 ? "value" : "values";
    const what = isHeader ? `the header names ${width} ${columns}` : `the first line has ${width}`;
    throw new Error(
      `line ${line} has ${cells.length} ${values}, but ${what}; add or remove separators, or ` +
        "quote the text.",
    );
  }
  return cells.slice(0, width);
}

/**
 * Whether a cell is empty, or says so in a word that is not a word.
 *
 * @param {string} text
 */
export function isMissing(text) {
  return MISSING.has(text.trim());
}

/**
 * The same among numbers and dates.
 *
 * @param {string} text
 */
export function isNoNumber(text) {
  const word = text.trim();
  return MISSING.has(word) || MISSING_AMONG_NUMBERS.has(word.toLowerCase());
}

/**
 * The number that a cell spells; NaN where it says that there is none.
 *
 * @param {string} text
 * @param {"." | ","} [decimal]
 * @param {"." | "," | ""} [grouping]
 * @returns {number}
 */
export function parseNumber(text, decimal = ".", grouping = "") {
  const spelt = text.trim();
  const word = GROUPED[grouping]?.test(spelt) ? spelt.replaceAll(grouping, "") : spelt;
  if (isNoNumber(word)) {
    return NaN;
  }
  const plain = decimal === "," && !word.includes(".") ? word.replace(",", ".") : word;
  if (NUMBER.test(plain)) {
    return Number(plain);
  }
  const infinite = INFINITE.exec(word);
  if (infinite !== null) {
    return infinite[1] === "-" ? -Infinity : Infinity;
  }
  if (NOT_A_NUMBER.test(word)) {
    return NaN;
  }
  throw new Error(`'${word}' is not a number.`);
}

/**
 * A table as text, separated by commas; numbers that are NaN become empty cells.
 *
 * Text that a spreadsheet would take for a formula has an apostrophe before it, and one more if it
 * has some already: `guarded` of branchwise._writing.
 *
 * @param {string[]} names
 * @param {Iterable<Iterable<string | number | boolean | null>>} rows
 */
export function toCsv(names, rows) {
  return [names, ...rows].map((row) => `${toLine(Array.from(row, toCell))}\n`).join("");
}

/** @param {string[]} cells */
function toLine(cells) {
  // One empty cell alone would be a blank line.
  return cells.length === 1 && cells[0] === "" ? '""' : cells.join(",");
}

/** @param {string | number | boolean | null | undefined} value */
function toCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return "";
  }
  const text = typeof value === "string" ? guarded(value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {string} text */
function guarded(text) {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}
