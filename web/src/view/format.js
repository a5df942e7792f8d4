// Numbers and names as people read them.

/** A number with so many significant digits, without an exponent where that stays short. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return grouped(value);
  const text =
    size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const plain = text.includes("e") && size < 1e6 && size >= 1e-4 ? String(Number(text)) : text;
  return plain
    .replace(/(\.\d*?)0+(?=$|e)/, "$1")
    .replace(/\.(?=$|e)/, "")
    .replace("-", "−")
    .replace("e+", "e");
}

/** A number of single precision with no more digits than it has. */
export function shortest(value) {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** A whole number in groups of three. */
export function grouped(value) {
  return String(value)
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",")
    .replace("-", "−");
}

/** A part of a whole. */
export function percent(part) {
  if (!Number.isFinite(part)) return "–";
  const value = 100 * part;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.1) return "< 0.1 %";
  if (value > 99.9) return "> 99.9 %";
  return `${value < 1 || value > 99 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** "1 sample", "2 samples". */
export function counted(n, what) {
  const plural = /(ch|s|x)$/.test(what) ? `${what}es` : `${what}s`;
  return `${grouped(n)} ${n === 1 ? what : plural}`;
}

/** Text cut to a length. */
export function clipped(text, length = 40) {
  const letters = [...String(text)];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : String(text);
}

/** A name for a file, of letters that every system takes. */
export function fileName(text) {
  const plain = String(text)
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain.slice(0, 60).toLowerCase() || "branchwise";
}

/** About n round numbers from low to high. */
export function ticks(low, high, n = 5) {
  if (!(high > low) || !Number.isFinite(high - low)) return [low];
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let k = first; k <= last; k += 1) found.push(Number((k * step).toFixed(digits)));
  return found;
}

/** The largest of 1, 2 and 5 times a power of ten that is not larger. */
export function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map((k) => k * power).find((round) => round <= value * (1 + 1e-9));
}
