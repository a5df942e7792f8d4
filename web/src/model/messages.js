/** Words for messages. */

/** Of a new sample that is farther from the tree than nearly all samples of the fit. */
export const FAR_WORDS =
  "Far from the tree, farther than nearly all samples of the fit: its branch and pseudotime may mean little.";

/**
 * A text in quotation marks, as Python shows one.
 *
 * @param {string} text
 */
export function quoted(text) {
  return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text}'`;
}

/**
 * A list for a message, with an end.
 *
 * @param {string[]} texts
 * @param {number} [most]
 */
export function listed(texts, most = 5) {
  const rest = texts.length > most ? ` and ${texts.length - most} more` : "";
  return texts.slice(0, most).join(", ") + rest;
}
