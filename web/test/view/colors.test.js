import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { categoryColors, colorize, contrast, rgb, viridis } from "../../src/view/colors.js";

const css = readFileSync(new URL("../../src/style.css", import.meta.url), "utf8");

/** The colours of a theme by name; the dark one changes some of the light one. */
function themeOf(name) {
  const blocks = { light: /:root \{([^}]*)\}/, dark: /:root\[data-theme="dark"\] \{([^}]*)\}/ };
  const [, block] = css.match(blocks[name]);
  const pairs = [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)];
  return Object.fromEntries(pairs.map(([, key, value]) => [key, rgb(value)]));
}

for (const theme of ["light", "dark"]) {
  test(`text of the ${theme} theme has the contrast that WCAG AA asks for`, () => {
    const c = themeOf(theme);
    for (const ground of ["ground", "panel", "button"]) {
      for (const ink of ["ink", "soft", "problem"]) {
        assert.ok(contrast(c[ink], c[ground]) >= 4.5, `${ink} on ${ground}`);
      }
    }
    assert.ok(contrast(c["on-ink"], c["button-on"]) >= 4.5);
    for (const part of ["line", "accent", "focus", "button-on"]) {
      assert.ok(contrast(c[part], c.ground) >= 3, part);
    }
  });
}

test("categories on dark ground can be seen and differ", () => {
  const ground = themeOf("dark").ground;
  const styles = categoryColors(new Array(16).fill(1), "dark");
  assert.equal(new Set(styles.map((style) => style.color)).size, 16);
  for (const { color } of styles) assert.ok(contrast(rgb(color), ground) >= 3, color);
});

test("numbers on dark ground can be seen", () => {
  const ground = themeOf("dark").ground;
  for (let k = 0; k <= 10; k += 1) assert.ok(contrast(viridis(k / 10, "dark"), ground) >= 1.9);
});

test("from the ninth category on there is another shape; of too many the largest are kept", () => {
  const nine = categoryColors(new Array(9).fill(1), "light");
  assert.deepEqual(
    nine.map((style) => style.shape),
    [0, 0, 0, 0, 0, 0, 0, 0, 1],
  );
  const counts = Array.from({ length: 20 }, (_, k) => k);
  const own = categoryColors(counts, "light").map((style) => style.own);
  assert.deepEqual(
    own,
    counts.map((k) => k >= 5),
  );
});

test("missing values are counted, by the samples that they stand for", () => {
  const codes = Int32Array.from([0, -1, 1, 1]);
  const column = { kind: "category", name: "a", labels: ["x", "y"], codes };
  const found = colorize(column, "light", [1, 5, 2, 3]);
  assert.equal(found.nMissing, 5);
  assert.deepEqual(
    found.entries.map((entry) => entry.count),
    [1, 5],
  );
  const numbers = { kind: "number", name: "a", values: [1, Number.NaN, 3] };
  const scaled = colorize(numbers, "light");
  assert.deepEqual([scaled.low, scaled.high, scaled.nMissing], [1, 3, 1]);
  assert.deepEqual([...scaled.rgba.slice(0, 3)], rgb("#440154"));
  assert.deepEqual([...scaled.rgba.slice(8, 11)], rgb("#fde725"));
});

test("the legend of bins counts samples, not bins by their most frequent label", () => {
  const column = {
    kind: "category",
    name: "a",
    labels: ["x", "y"],
    codes: [1, 0],
    counts: [2, 3, 4, 0],
  };
  const found = colorize(column, "light", [6, 4]);
  assert.deepEqual(
    found.entries.map((entry) => entry.count),
    [6, 3],
  );
  assert.equal(found.nMissing, 1);
});

test("a column of one value, or of none, has a colour", () => {
  for (const values of [[2, 2], [Number.NaN, Number.NaN], []]) {
    const found = colorize({ kind: "number", name: "a", values }, "light");
    assert.equal(found.rgba.length, 4 * values.length);
  }
});

test("contrast is that of WCAG", () => {
  assert.equal(contrast([0, 0, 0], [255, 255, 255]), 21);
  assert.equal(contrast([7, 7, 7], [7, 7, 7]), 1);
});
