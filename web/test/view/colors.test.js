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

// What people without cones for long, middle and short waves see (Machado et al. 2009), as in
// tests/plotting/test_coloring.py.
const VISIONS = {
  normal: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  deuteranopia: [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
  tritanopia: [
    1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
  ],
};
const TO_XYZ = [0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505];

const times = (m, v) => [0, 3, 6].map((k) => m[k] * v[0] + m[k + 1] * v[1] + m[k + 2] * v[2]);

/** CIE Lab of a colour as somebody sees it. */
function lab(color, vision) {
  const linear = rgb(color)
    .map((value) => value / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const seen = times(VISIONS[vision], linear).map((v) => Math.min(Math.max(v, 0), 1));
  const [x, y, z] = times(TO_XYZ, seen)
    .map((v, k) => v / [0.9505, 1, 1.089][k])
    .map((v) => (v > 216 / 24389 ? Math.cbrt(v) : ((24389 / 27) * v + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** The least distance of two colours of two lists, for any kind of vision. */
function apart(some, others) {
  let least = Infinity;
  for (const vision of Object.keys(VISIONS)) {
    for (const a of some) {
      for (const b of others) {
        if (a === b) continue;
        const [p, q] = [lab(a, vision), lab(b, vision)];
        least = Math.min(least, Math.hypot(...p.map((value, k) => value - q[k])));
      }
    }
  }
  return least;
}

const GREYS = { light: ["#FFFFFF", "#BDBDBD", "#737373"], dark: ["#16181D", "#5C6068", "#9EA3AB"] };
// As far as both lists go: the first four, the first eight, from the other categories, and all.
const LEAST = { light: [33, 16.9, 12.7, 12.4], dark: [30, 14.4, 11.6, 11.5] };

for (const theme of ["light", "dark"]) {
  test(`branches and categories are told apart by all readers, ${theme}`, () => {
    const palette = (isBranch) =>
      categoryColors(new Array(16).fill(1), theme, isBranch).map((style) => style.color);
    const [branches, categories] = [palette(true), palette(false)];
    const [four, eight, more, all] = LEAST[theme];
    assert.equal(new Set([...branches, ...categories]).size, 32);
    assert.ok(apart(branches.slice(0, 4), branches.slice(0, 4)) > four);
    assert.ok(apart(branches.slice(0, 8), branches.slice(0, 8)) > eight);
    assert.ok(apart(branches.slice(0, 8), categories.slice(0, 8)) > eight);
    assert.ok(apart(branches.slice(0, 8), GREYS[theme]) > eight);
    assert.ok(apart(branches.slice(0, 8), categories.slice(8)) > more);
    assert.ok(apart(branches, [...branches, ...categories, ...GREYS[theme]]) > all);
  });
}

test("branches on dark ground can be seen", () => {
  const ground = themeOf("dark").ground;
  for (const { color } of categoryColors(new Array(16).fill(1), "dark", true)) {
    assert.ok(contrast(rgb(color), ground) >= 3, color);
  }
});

test("branches are coloured by their own list, a column of the same name is not", () => {
  const column = { key: "branch", kind: "category", name: "branch", labels: ["x"], codes: [0] };
  const own = colorize(column, "light").styles[0].color;
  const other = colorize({ ...column, key: "column:3" }, "light").styles[0].color;
  assert.equal(other, "#0072B2");
  assert.notEqual(own, other);
});
