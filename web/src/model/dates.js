/**
 * Dates as people write them: the twin of branchwise.data.dates and branchwise.data.instants.
 */

const TIME =
  "(?:(?:T|\\s+)(\\d{1,2}):(\\d{2})(?::(\\d{2})(?:\\.(\\d{1,6}))?)?\\s*(Z|[+-]\\d{2}:?\\d{2})?)?";
const YEAR_FIRST = new RegExp(`^(\\d{4})([-/.])(\\d{1,2})\\2(\\d{1,2})${TIME}$`);
const YEAR_LAST = new RegExp(`^(\\d{1,2})([-/.])(\\d{1,2})\\2(\\d{4})${TIME}$`);
const NAMED = new RegExp(`^(\\d{1,2})([- ]?)([A-Za-z]{3,9})\\.?\\2(\\d{4})${TIME}$`);
const MONTHS = [
  ..."january february march april may june".split(" "),
  ..."july august september october november december".split(" "),
];
const ORDERS = ["dmy", "mdy"];
export const [FIRST_YEAR, LAST_YEAR] = [1800, 2199];

/**
 * Microseconds since 1970 in UTC; NaN if day and month may be either, null if it is not a date.
 *
 * @param {string} text
 * @param {string | null} [order]  "dmy" or "mdy", what 03/04/2024 means, where that is known; it
 *   binds.
 * @returns {number | null}
 */
export function instant(text, order = null) {
  const parts = spelt(text.trim());
  if (parts === null) {
    return null;
  }
  const ways = order === null ? ORDERS : [order];
  const values = ways
    .map((way) => moment(parts, way))
    .filter((date) => date !== null && isMeant(date))
    .map((date) => date.getTime() * 1000 + Number((parts.clock[3] ?? "0").padEnd(6, "0")));
  if (values.length === 0) {
    return null;
  }
  return values.every((value) => value === values[0]) ? values[0] : NaN;
}

/**
 * Whether it is a date, but of a year that cannot be meant.
 *
 * @param {string} text
 */
export function isBeyond(text) {
  const parts = spelt(text.trim());
  return parts !== null && instant(text) === null && ORDERS.some((way) => moment(parts, way));
}

/** Whether the year of a date can be meant. */
function isMeant(date) {
  return date.getUTCFullYear() >= FIRST_YEAR && date.getUTCFullYear() <= LAST_YEAR;
}

/** The parts of a date, if it is one; without a sign the first number is the month. */
function spelt(text) {
  let found = YEAR_FIRST.exec(text);
  if (found !== null) {
    const [, year, , month, day, ...clock] = found;
    return { year: Number(year), first: Number(month), second: Number(day), sign: "", clock };
  }
  found = YEAR_LAST.exec(text);
  if (found !== null) {
    const [, first, sign, second, year, ...clock] = found;
    return { year: Number(year), first: Number(first), second: Number(second), sign, clock };
  }
  found = NAMED.exec(text);
  if (found !== null) {
    const [, day, , name, year, ...clock] = found;
    const fits = MONTHS.filter((month) => month.startsWith(name.toLowerCase()));
    const month = MONTHS.indexOf(fits[0]) + 1;
    const date = { year: Number(year), first: month, second: Number(day), sign: "", clock };
    return fits.length === 1 ? date : null;
  }
  return null;
}

/** The time without parts of a second, or null if there is none; with points the day is first. */
function moment({ year, first, second, sign, clock }, order) {
  const isDayFirst = sign === "." || (sign !== "" && order === "dmy");
  const [month, day] = isDayFirst ? [second, first] : [first, second];
  const [hour, minute, seconds, , zone] = clock;
  const [h, m, s] = [Number(hour ?? 0), Number(minute ?? 0), Number(seconds ?? 0)];
  const date = new Date(Date.UTC(2000, 0, 1));
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDay || year === 0 || h > 23 || m > 59 || s > 59) {
    return null;
  }
  let ahead = 0;
  if (zone !== undefined && zone !== "Z") {
    const digits = zone.slice(1).replace(":", "");
    const [hours, minutes] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
    if (hours > 23 || minutes > 59) {
      return null;
    }
    ahead = (60 * hours + minutes) * (zone.startsWith("-") ? -1 : 1);
  }
  date.setUTCHours(h, m - ahead, s);
  return date;
}
