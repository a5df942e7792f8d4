import assert from "node:assert/strict";
import test from "node:test";

import { instant, isBeyond } from "../../src/model/dates.js";

const DAY = 86_400_000_000;

/** Of 31 March 2024. */
const MARCH = (Date.UTC(2024, 2, 31) / 86_400_000) * DAY;

const SPELLINGS = {
  "2024-03-31": MARCH,
  "2024/3/31": MARCH,
  " 2024.03.31 ": MARCH,
  "31.03.2024": MARCH,
  "31/03/2024": MARCH,
  "3/31/2024": MARCH,
  "31-Mar-2024": MARCH,
  "31 march 2024": MARCH,
  "2024-03-31T12:00": MARCH + DAY / 2,
  "2024-03-31 12:00:00.5": MARCH + DAY / 2 + 500_000,
  "2024-03-31T02:00+02:00": MARCH,
  "2024-03-30T22:30-0130": MARCH,
  "2024-03-31T00:00Z": MARCH,
  "01/01/1970": 0,
};

for (const [text, expected] of Object.entries(SPELLINGS)) {
  test(`${text} is a date`, () => assert.equal(instant(text), expected));
}

test("day and month may be either unless their order is known", () => {
  assert.ok(Number.isNaN(instant("03/04/2024")));
  assert.equal(instant("03/04/2024", "dmy"), Date.UTC(2024, 3, 3) * 1000);
  assert.equal(instant("03/04/2024", "mdy"), Date.UTC(2024, 2, 4) * 1000);
  assert.equal(instant("04.03.2024", "mdy"), Date.UTC(2024, 2, 4) * 1000);
  assert.equal(instant("2024-03-31", "mdy"), MARCH);
});

test("a known order binds", () => {
  assert.equal(instant("31/03/2024", "mdy"), null);
  assert.equal(instant("03/31/2024", "dmy"), null);
  assert.equal(instant("03/31/2024", "mdy"), MARCH);
});

const NONE = [
  ..."soon 2024 45000 2024-02-30 2024-13-01 31/31/2024 9999-12-31 1492-10-12".split(" "),
  ..."2024-03/31 31-Foo-2024 31-Ma-2024 2024-03-31T25:00 2024-03-31T02:00+99:00".split(" "),
];

test("what is not a date is null", () => {
  assert.deepEqual(
    NONE.filter((text) => instant(text) !== null),
    [],
  );
});

test("a year that cannot be meant is told from what is not a date", () => {
  for (const [text, expected] of [
    ["01/01/0217", true],
    ["9999-12-31", true],
    ["2024-12-31", false],
    ["31/31/0217", false],
    ["0000-01-01", false],
    ["soon", false],
  ]) {
    assert.equal(isBeyond(text), expected, text);
  }
});
