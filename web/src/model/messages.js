/** Words for messages. */

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
