import assert from "node:assert/strict";
import test from "node:test";

import { parseNumber, parseTable, toCsv } from "../../src/model/csv.js";

test("cells in quotation marks keep separators, lines and quotation marks", () => {
  const { names, rows } = parseTable('a,"b, c"\r\n"x ""y""","two\nlines"\r\n');
  assert.deepEqual(names, ["a", "b, c"]);
  assert.deepEqual(rows, [['x "y"', "two\nlines"]]);
});

test("what is written is read again", () => {
  const names = ["id", "a,b", 'say "a"', "line\nbreak", " blank "];
  const rows = [
    ["ä", "1", "", "x\r\ny", '"'],
    ["", "-2.5e-7", "a,b", ";", " \t"],
  ];
  const table = parseTable(toCsv(names, rows), { usual: "," });
  assert.deepEqual(
    table.names,
    names.map((name) => name.trim()),
  );
  assert.deepEqual(table.rows, rows);
});

test("only what needs them gets quotation marks", () => {
  const text = toCsv(
    ["a b", "c;d"],
    [
      [1.5, NaN],
      [true, null],
      ['"', "x,y"],
    ],
  );
  assert.equal(text, 'a b,c;d\n1.5,\ntrue,\n"""","x,y"\n');
  assert.deepEqual(parseTable(toCsv(["a"], [[""], ["1"]])).rows, [[""], ["1"]]);
});

test("numbers are written so that they are read as the same", () => {
  for (const value of [0.1 + 0.2, 1e21, 5e-324, -1 / 3, 1e100]) {
    assert.equal(parseNumber(parseTable(toCsv(["x"], [[value]])).rows[0][0]), value);
  }
});

test("separators, byte order marks, blank lines and empty ends are told apart from data", () => {
  for (const [separator, end] of [
    [",", "\n"],
    [";", "\r\n"],
    ["\t", "\r"],
  ]) {
    const lines = ["x,y".replace(",", separator), "", `1${separator}2`, separator, ""];
    const table = parseTable(`\uFEFF${lines.join(end)}`);
    assert.deepEqual(table.names, ["x", "y"]);
    assert.deepEqual(table.rows, [["1", "2"]]);
    assert.equal(table.separator, separator);
  }
});

test("the name of a file tells the separator if it occurs in the header", () => {
  assert.equal(parseTable("a\tb,c\n1\t2,5", { usual: "\t" }).names.length, 2);
  assert.equal(parseTable("a;b\n1;2", { usual: "," }).separator, ";");
});

test("known names tell the separator", () => {
  const table = parseTable("size, cm;weight, kg\n1,5;2", { known: ["weight, kg"] });
  assert.deepEqual(table.names, ["size, cm", "weight, kg"]);
});

test("commas are decimal signs where they do not separate", () => {
  assert.equal(parseTable("a;b\n1,5;2,25").decimal, ",");
  assert.equal(parseTable("a;b\n1,500;2,250").decimal, ".");
  assert.equal(parseTable("a;b\n1,5;2.5").decimal, ".");
  assert.equal(parseTable("a;b\n1,5;1.234").decimal, ",");
  assert.equal(parseTable("a;b\n12.345,678;1.234").decimal, ",");
  assert.equal(parseTable("a;b\n1,5;0.567").decimal, ".");
  assert.equal(parseTable("a,b\n1,5").decimal, ".");
  // Where a table does not tell, the sign is that of the fit.
  const comma = { decimal: "," };
  assert.equal(parseTable("a;b\n1,500;2,250", comma).decimal, ",");
  assert.equal(parseTable("a;b\n236.200;12", comma).decimal, ",");
  assert.equal(parseTable("a;b\n12.5;12", comma).decimal, ".");
  assert.equal(parseTable("a,b\n1,5", comma).decimal, ".");
});

test("signs between thousands are left out", () => {
  const european = parseTable("a;b\n1,5;1.234");
  assert.equal(parseNumber("12.345,6", european.decimal, european.grouping), 12345.6);
  assert.equal(parseNumber("1.234", european.decimal, european.grouping), 1234);
  const american = parseTable('a,b\n1.5,"3,360"');
  assert.equal(parseNumber("3,360", american.decimal, american.grouping), 3360);
  assert.equal(parseNumber("1.234", american.decimal, american.grouping), 1.234);
  for (const text of ["3,36", "0,567", "3,3600"]) {
    assert.throws(() => parseNumber(text, american.decimal, american.grouping), /is not a number/);
  }
  assert.equal(parseTable("a\tb\n1,500\t2").grouping, "");
});

test("rows of numbers have no header", () => {
  for (const text of ["5.1,3.5,1.4\n", "P1,1,2,3", "1,5;2,25;3", "5.1\t\tNA", "0,1,2", "7"]) {
    assert.equal(parseTable(text).names, null, text);
  }
  assert.equal(parseTable("P1,0.31,0.27\nP2,0.4,0.1").names, null);
  assert.equal(parseTable("P1,1,2\nP2,3,4", { known: ["a", "b"] }).names, null);
});

test("names that look like numbers are a header", () => {
  assert.deepEqual(parseTable("id,1234,77\nP1,3,4").names, ["id", "1234", "77"]);
  assert.deepEqual(parseTable(",0,1\nP1,3,4").names, ["", "0", "1"]);
  assert.deepEqual(parseTable("0.3,0.2\n3,4", { known: ["0.2", "0.3"] }).names, ["0.3", "0.2"]);
});

test("row names of R are a first column without a name", () => {
  assert.deepEqual(parseTable("a,b\nP1,1,2\nP2,3,4").names, ["", "a", "b"]);
});

test("beside a name for them, or one name alone, there are no row names", () => {
  const message = /line 2 has \d values, but the header names \d columns?; add or remove/;
  for (const text of ["patient,age,hb\nP1,71,12,5\nP2,60,11,7", "hb\n12,5\n11,7"]) {
    assert.throws(() => parseTable(text, { known: ["hb"] }), message);
  }
});

test("what is wrong with a table is told", () => {
  for (const text of ["", " \n \r\n", "\uFEFF"]) {
    assert.throws(() => parseTable(text), /^Error: there is no text to read; paste a table/);
  }
  assert.throws(
    () => parseTable("a,b\n1,2\n1,2,3\n"),
    /line 3 has 3 values, but the header names 2 columns; add or remove separators, or quote/,
  );
  assert.throws(() => parseTable("1.5,2\n1\n"), /line 2 has 1 value, but the first line has 2;/);
  assert.throws(
    () => parseTable('a,b\n1,"2\n3,4'),
    /a quotation mark was opened in line 2\); look for a quotation mark without its partner/,
  );
});

test("numbers are read as Python's float reads them", () => {
  const spelt = { "1e5": 1e5, " 5 ": 5, "+.5": 0.5, "5.": 5, "-1E-3": -0.001, "007": 7 };
  for (const [text, value] of Object.entries(spelt)) {
    assert.equal(parseNumber(text), value);
  }
  assert.equal(parseNumber("-1,5e3", ","), -1500);
  assert.equal(parseNumber("1.5", ","), 1.5);
  assert.equal(parseNumber("-inf"), -Infinity);
  assert.equal(parseNumber("Infinity"), Infinity);
});

test("words for missing values are missing values", () => {
  for (const text of [
    "",
    " ",
    "NA",
    "N/A",
    "nan",
    "-",
    "unknown",
    "None",
    "#DIV/0!",
    "#NAME?",
    ".",
    "?",
  ]) {
    assert.ok(Number.isNaN(parseNumber(text)), text);
  }
});

test("other text is not a number", () => {
  for (const text of ["0x10", "1_000", "abc", "1,5", "<5", "12 %", "1e", "--1", "true", "1 2"]) {
    assert.throws(() => parseNumber(text), /is not a number/, text);
  }
});

test("what a spreadsheet would take for a formula becomes text", () => {
  const formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1"];
  for (const text of [...formulas, "-", "- 1", "-inf", "'=1", "''@x"]) {
    const [line] = parseTable(toCsv(["x", "y"], [[text, 1]])).rows;
    assert.equal(line[0], `'${text}`);
  }
  assert.equal(toCsv(["=name", "-B"], []), "'=name,'-B\n");
});

test("numbers and other text stay as they are", () => {
  const cells = [-1.5, -1e-7, -Infinity, "-1.5", "+3e4", "-.5", "+1.", "a=b", " =1", "'quoted'"];
  assert.equal(toCsv(["x"], [cells]), `x\n${cells.join(",")}\n`);
});

test("names are the same however their accents are written", () => {
  const names = ["Größe", "Ha\u0308moglobin"];
  const table = parseTable(`${names.map((name) => name.normalize("NFD")).join(";")}\n1;2`);
  assert.deepEqual(
    table.names,
    names.map((name) => name.normalize("NFC")),
  );
});
