import assert from "node:assert/strict";
import test from "node:test";

import { readSamples } from "../../src/model/newSamples.js";

/** A model of two features and the given steps. */
function modelOf({ steps = [], covariates = [], dropsMissing = false } = {}) {
  return { features: ["bmi", "crp"], covariates, steps, drops_missing: dropsMissing };
}

const ADJUSTED = modelOf({
  covariates: ["age", "sex"],
  steps: [{ name: "adjust", names: ["age", "sex"], levels: [null, ["f", "m"]] }],
});

const rowsOf = (read) => read.rows.map((row) => Array.from(row));

test("columns are found by name, others are ignored, and the first names the samples", () => {
  const read = readSamples("patient;site;crp;bmi\nP1;x;1,5;20\nP2;y;2;21,5\n", modelOf());
  assert.deepEqual(read.ids, ["P1", "P2"]);
  assert.deepEqual(rowsOf(read), [
    [20, 1.5],
    [21.5, 2],
  ]);
  assert.deepEqual(read.dropped, []);
});

test("where a table leaves it open, the decimal sign is that of the fit", () => {
  const model = { ...modelOf(), decimal: "," };
  assert.deepEqual(rowsOf(readSamples("bmi;crp\n236.200;12", model)), [[236200, 12]]);
  assert.deepEqual(rowsOf(readSamples("bmi;crp\n236,200;12", model)), [[236.2, 12]]);
  assert.deepEqual(rowsOf(readSamples("bmi;crp\n236.2;12", model)), [[236.2, 12]]);
  assert.deepEqual(rowsOf(readSamples("bmi;crp\n236.200;12", modelOf())), [[236.2, 12]]);
});

test("samples without names are new 1, new 2 and so on", () => {
  assert.deepEqual(readSamples("bmi,crp\n20,1\n21,2", modelOf()).ids, ["new 1", "new 2"]);
  assert.deepEqual(readSamples("site,bmi,crp\na,20,1", modelOf()).ids, ["new 1"]);
  assert.deepEqual(readSamples("sample,bmi,crp\n0.5,20,1", modelOf()).ids, ["new 1"]);
  assert.deepEqual(readSamples(",bmi,crp\nP7,20,1\n,21,2", modelOf()).ids, ["P7", "new 2"]);
});

test("a row without a header is taken in the order of the features", () => {
  assert.deepEqual(rowsOf(readSamples("20.5, 1", modelOf())), [[20.5, 1]]);
  assert.deepEqual(rowsOf(readSamples("20,5\t1,5", modelOf())), [[20.5, 1.5]]);
  const named = readSamples("P1,20,1\nP2,21,2", modelOf());
  assert.deepEqual(named.ids, ["P1", "P2"]);
  assert.deepEqual(rowsOf(named), [
    [20, 1],
    [21, 2],
  ]);
});

test("covariates are read as numbers and levels", () => {
  const read = readSamples("sex,age,bmi,crp\nm,50,20,1\nf,61.5,21,2\n", ADJUSTED);
  assert.deepEqual(read.covariates, [
    [50, "m"],
    [61.5, "f"],
  ]);
});

test("missing values stay for a model that imputes them", () => {
  const model = modelOf({ steps: [{ name: "impute" }] });
  assert.deepEqual(rowsOf(readSamples("bmi,crp\nNA,1", model)), [[NaN, 1]]);
});

test("rows that lack a value are dropped where the model says so and cannot place them", () => {
  const model = { ...ADJUSTED, drops_missing: true };
  const text = "id,bmi,crp,age,sex\na,20,1,50,f\nb,,1,50,f\nc,20,-,40,f\n";
  const read = readSamples(text, model);
  assert.deepEqual(read.ids, ["a"]);
  assert.deepEqual(read.dropped, [
    { id: "b", row: 2, column: "bmi" },
    { id: "c", row: 3, column: "crp" },
  ]);
});

const TRUSTED = { ...modelOf(), trust: {} };

test("a model that knows how its samples scatter takes gaps, and columns that are absent", () => {
  const read = readSamples("id,bmi,crp\na,20,\nb,NA,1\n", TRUSTED);
  assert.deepEqual(rowsOf(read), [
    [20, NaN],
    [NaN, 1],
  ]);
  assert.deepEqual(read.absent, []);
  const some = readSamples("id,crp\na,3\n", { ...TRUSTED, drops_missing: true });
  assert.deepEqual(rowsOf(some), [[NaN, 3]]);
  assert.deepEqual(some.absent, ["bmi"]);
  const empty = readSamples("id,bmi,crp\na,,3\nb,,4", TRUSTED);
  assert.deepEqual([empty.absent, empty.without], [[], ["'bmi'"]]);
  assert.deepEqual(readSamples("id,bmi,crp\na,,3", TRUSTED).without, []);
});

test("a row of which nothing is known is left out", () => {
  const read = readSamples("id,bmi,crp\na,,\nb,NA,1\n", TRUSTED);
  assert.deepEqual(read.ids, ["b"]);
  assert.deepEqual(read.dropped, [{ id: "a", row: 1, column: "" }]);
});

const ENCODED = modelOf({
  steps: [
    {
      name: "encode",
      columns: ["bmi", "crp"],
      kinds: ["category", "date"],
      levels: [["1", "high"], null],
      shares: Float64Array.of(0.5, 0.5),
      firsts: [null, 0],
      orders: [null, null],
      ages: [],
    },
  ],
});

test("levels and dates are read as text, and encoded", () => {
  const text = "id,crp,bmi\na,1970-01-03, 1.0 \nb,01.01.1970,high\n";
  const read = readSamples(text, ENCODED);
  assert.deepEqual(rowsOf(read), [
    [-1, 2],
    [1, 0],
  ]);
  const imputed = { ...ENCODED, steps: [...ENCODED.steps, { name: "impute" }] };
  assert.deepEqual(rowsOf(readSamples("id,crp,bmi\nP1,,NA", imputed)), [[NaN, NaN]]);
});

/** The same with other levels of bmi. */
function ofLevels(...levels) {
  const [encode] = ENCODED.steps;
  return { ...ENCODED, steps: [{ ...encode, levels: [levels, null] }] };
}

test("truth values are read in either way to write them", () => {
  const read = (text, ...levels) =>
    rowsOf(readSamples(`bmi,crp\n${text},1970-01-01\n`, ofLevels(...levels)))[0][0];
  assert.deepEqual(
    ["0", "1.0", "true", "FALSE"].map((text) => read(text, "False", "True")),
    [-1, 1, 1, -1],
  );
  assert.deepEqual(
    ["False", "TRUE", "1"].map((text) => read(text, "0", "1")),
    [-1, 1, 1],
  );
  for (const levels of [
    ["no", "yes"],
    ["False", "True", "maybe"],
    ["0", "1", "2"],
  ]) {
    const text = levels[0] === "0" ? "True" : "1";
    assert.throws(() => read(text, ...levels), /that the fit did not know/);
  }
});

test("an age is one feature, of two dates", () => {
  const [encode] = ENCODED.steps;
  const ages = [["years", "born", "seen"]];
  const model = (kind) => ({
    ...TRUSTED,
    features: ["crp", "born", "seen"],
    steps: [
      {
        ...encode,
        columns: ["crp", "born", "seen"],
        kinds: ["number", "end of an age", kind],
        levels: [null, null, null],
        shares: new Float64Array(0),
        firsts: [null, 0, 0],
        orders: [null, null, null],
        ages,
      },
    ],
  });
  const [age, day] = ["'years' (from 'born' and 'seen')", "'seen'"];
  for (const text of ["id,crp,born\na,1,1950-01-01", "id,crp,seen,born\na,1,,1950-01-01\nb,2,,"]) {
    const one = readSamples(text, model("end of an age"));
    assert.deepEqual([one.without, one.nFeatures], [[age], 2]);
    const two = readSamples(text, model("date"));
    assert.deepEqual([two.without, two.nFeatures], [[day, age], 3]);
  }
  assert.deepEqual(readSamples("id,crp\na,1", model("date")).absent, ["seen", "years"]);
  const { ids, dropped } = readSamples(
    "id,crp,born,seen\na,,1950-01-01,\nb,2,1950-01-01,2020-01-01",
    model("end of an age"),
  );
  assert.deepEqual(ids, ["b"]);
  assert.deepEqual(dropped, [{ id: "a", row: 1, column: "" }]);
});

const WRONG = {
  "levels that the fit did not know": [
    "bmi,crp\nlow,1970-01-01\n1,1970-01-01\n2,1970-01-01",
    ENCODED,
    "2 of 3 rows have levels that the fit did not know: 'bmi' has 'low', '2' in 2 rows, first in " +
      "data row 1 (known: '1', 'high'); mend these cells, empty them if the value is not known, " +
      "leave the rows out, or fit again with samples of these levels.",
  ],
  "another way to write yes and no": [
    "bmi,crp\n0,1970-01-01\n1,1970-01-01",
    ofLevels("Yes", "No"),
    "of these levels. Are 0 and 1 of 'bmi' No and Yes? Write them so.",
  ],
  "what is not a date": [
    "bmi,crp\n1,1970-01-01\n1,soon\n1,never",
    ENCODED,
    "column 'crp' holds 'soon' in data row 2, which is not a date (2 such cells); write dates as " +
      "2024-03-31 (year, month, day), empty the cells if they are not known, or leave the column " +
      "out.",
  ],
  "a date of a year that cannot be meant": [
    "bmi,crp\n1,01/01/0217",
    ENCODED,
    "column 'crp' holds '01/01/0217' in data row 1, whose year is not between 1800 and 2199; write",
  ],
  "dates that may be two": [
    "bmi,crp\n1,03/04/2024",
    ENCODED,
    "column 'crp' holds '03/04/2024' in data row 1, of which the day and the month cannot be told",
  ],
  "categories without a header": [
    "1,2",
    ENCODED,
    "categories and dates are found by name only; add a header line.",
  ],
  "missing categories": [
    "bmi,crp\n,1970-01-01",
    ENCODED,
    "the table has 1 missing value in 1 of 2 columns ('bmi': 1), and this page does not know",
  ],
  "an empty text": ["", modelOf(), "there is no text to read; paste a table with a header"],
  "a header alone": [
    "bmi,crp\n",
    modelOf(),
    "the table has a header but no rows; it needs at least one sample.",
  ],
  "missing columns": [
    "bmi,x\n1,2",
    modelOf(),
    "the table lacks 1 of the 2 columns that were there in fit: 'crp'; add them, or name them",
  ],
  "many missing columns": [
    "a,z\n1,2",
    { ...modelOf(), features: [..."abcdefgh"] },
    "lacks 7 of the 8 columns that were there in fit: 'b', 'c', 'd', 'e', 'f' and 2 more; add",
  ],
  "repeated columns": [
    "bmi,crp,crp\n1,2,3",
    modelOf(),
    "column names must be unique, but 'crp' is repeated; rename them.",
  ],
  "text among numbers": [
    "bmi,crp\n20,1\n21,<5",
    modelOf(),
    "column 'crp' holds '<5' in data row 2, which is not a number; mend the cell",
  ],
  "text in a row without a header": [
    "P1,20,<5",
    modelOf(),
    "column 'crp' holds '<5' in data row 1, which is not a number",
  ],
  "missing values": [
    "bmi,crp\n,1\n,NA\n1,2",
    modelOf(),
    "the table has 3 missing values in 2 of 2 columns ('bmi': 2, 'crp': 1), and this page does " +
      "not know how the samples of the fit scatter, which placing with gaps needs; fill them in",
  ],
  "none of the columns, for a model that takes gaps": [
    "a,z\n1,2",
    TRUSTED,
    "the table lacks 2 of the 2 columns that were there in fit: 'bmi', 'crp'; add them, or name",
  ],
  "no value in any column": [
    "bmi,crp,z\n,,1",
    TRUSTED,
    "the table has no values of any of the 2 features ('bmi', 'crp'), but samples are placed by " +
      "these; add some, or name them as in fit.",
  ],
  "absent covariates, for a model that takes gaps": [
    "bmi,sex\n1,f",
    { ...ADJUSTED, trust: {} },
    "the table lacks 1 of the 4 columns that were there in fit: 'age'; add them, or name them",
  ],
  "a wrong number of values": [
    "1,2,3,4.5",
    modelOf(),
    "the first line has 4 values and no names, but must have 2, one for each feature ('bmi', " +
      "'crp'), or one more before them, an id; add what is lacking, or a header line.",
  ],
  "values that are not finite": [
    "bmi,crp\n1,inf",
    modelOf(),
    "column 'crp' is Infinity in data row 1, but every value must be finite; replace such values",
  ],
  "values whose squares overflow": [
    "bmi,crp\n1,1e200",
    modelOf(),
    "column 'crp' is 1e+200 in data row 1, but values must be at most 4.7e+153 in size",
  ],
  "no header, but covariates": [
    "1.5,2",
    ADJUSTED,
    "the first line holds numbers where names of columns should be, and the covariates 'age', " +
      "'sex' are found by name only; add a header line.",
  ],
  "a level that was not there": [
    "bmi,crp,age,sex\n1,2,50,x",
    ADJUSTED,
    "covariate 'sex' has the level 'x', but its levels in fit were 'f', 'm'; leave such rows out",
  ],
  "a covariate that is not a number": [
    "bmi,crp,age,sex\n1,2,old,f",
    ADJUSTED,
    "covariate 'age' must hold numbers, as it did in fit, but holds 'old' in data row 1; mend",
  ],
  "a missing covariate": [
    "bmi,crp,age,sex\n1,2,50,f\n1,2,50,",
    ADJUSTED,
    "covariate 'sex' is missing in 1 of 2 rows, first in data row 2, but must be known for all;",
  ],
  "values without a logarithm": [
    "bmi,crp\n1,2\n-1,3",
    modelOf({ steps: [{ name: "log1p" }] }),
    "column 'bmi' is -1 in data row 2, but log1p=True needs values above -1; give values as they",
  ],
};

for (const [what, [text, model, message]] of Object.entries(WRONG)) {
  test(`${what}: an error in one sentence with what to do`, () => {
    assert.throws(
      () => readSamples(text, model),
      (error) => error.message.includes(message) && error.message.endsWith("."),
    );
  });
}
