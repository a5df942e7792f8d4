/**
 * The data of the page: base64 of a zlib stream of a header in JSON and the arrays that it names.
 *
 * Python writes it (branchwise.report.encoding); arrays stand in the state as {"$array": k}.
 */

/** Number types by their names in the header. All are little-endian, as every browser is. */
const TYPES = {
  f4: Float32Array,
  f8: Float64Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  u8: BigUint64Array,
};

/** Arrays start at multiples of so many bytes. */
const ALIGNMENT = 8;

/**
 * The state that a text in base64 holds.
 *
 * @param {string} text
 * @returns {Promise<any>}
 */
export async function decode(text) {
  return decodeBlob(await inflate(fromBase64(text)));
}

/**
 * The bytes that a text in base64 stands for; white space around it does not count.
 *
 * @param {string} text
 * @returns {Uint8Array}
 */
export function fromBase64(text) {
  const clean = text.trim();
  if (typeof Uint8Array.fromBase64 === "function") {
    return Uint8Array.fromBase64(clean);
  }
  const letters = atob(clean);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) {
    bytes[i] = letters.charCodeAt(i);
  }
  return bytes;
}

/**
 * What a zlib stream holds.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
async function inflate(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(
      "This browser cannot unpack the data of the page; open it with a current version of " +
        "Firefox, Chrome, Edge or Safari.",
    );
  }
  const packed = new Blob([bytes]).stream();
  const unpacked = packed.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

/**
 * The state in an unpacked blob, with its arrays in their places.
 *
 * @param {Uint8Array} blob
 * @returns {any}
 */
export function decodeBlob(blob) {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  const size = blob.length >= 4 ? view.getUint32(0, true) : Infinity;
  if (4 + size > blob.length) {
    throw new Error("The data of the page are cut short; save the page again.");
  }
  const header = JSON.parse(new TextDecoder().decode(blob.subarray(4, 4 + size)));
  const first = Math.ceil((4 + size) / ALIGNMENT) * ALIGNMENT;
  const arrays = header.arrays.map(([type, offset, length]) =>
    readArray(blob, type, first + offset, length),
  );
  return withArrays(header.state, arrays);
}

/**
 * One array, of which all first bytes come first, then all second bytes, and so on.
 *
 * @param {Uint8Array} blob
 * @param {string} type
 * @param {number} offset
 * @param {number} length
 */
function readArray(blob, type, offset, length) {
  const Type = TYPES[type];
  if (Type === undefined) {
    throw new Error(`The data of the page hold an array of type "${type}", which is unknown.`);
  }
  const width = Type.BYTES_PER_ELEMENT;
  if (offset + width * length > blob.length) {
    throw new Error("The data of the page are cut short; save the page again.");
  }
  const bytes = new Uint8Array(width * length);
  for (let plane = 0; plane < width; plane += 1) {
    const start = offset + plane * length;
    for (let i = 0, to = plane; i < length; i += 1, to += width) {
      bytes[to] = blob[start + i];
    }
  }
  return new Type(bytes.buffer);
}

/**
 * A JSON value with arrays in place of {"$array": k}.
 *
 * @param {any} value
 * @param {ArrayLike<any>} arrays
 * @returns {any}
 */
function withArrays(value, arrays) {
  if (value === null || typeof value !== "object") {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => withArrays(item, arrays));
  }
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "$array") {
    return arrays[value.$array];
  }
  return Object.fromEntries(keys.map((key) => [key, withArrays(value[key], arrays)]));
}
