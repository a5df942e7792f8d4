/**
 * Rows that were there in fit are known again by 64-bit keys: the twin of
 * branchwise.data.row_order.row_keys.
 */

/** The bits of every NaN, whatever they were. */
const NAN_BITS = 0x7ff8000000000000n;

/**
 * The key of a row, which depends on its values alone.
 *
 * @param {ArrayLike<number>} row
 * @param {BigUint64Array} odd  One odd number per column.
 * @returns {bigint}
 */
export function rowKey(row, odd) {
  const numbers = Float64Array.from(row, (value) => value + 0); // −0 + 0 is +0
  const bits = new BigUint64Array(numbers.buffer);
  let key = 0n;
  for (let j = 0; j < bits.length; j += 1) {
    key += mix(Number.isNaN(numbers[j]) ? NAN_BITS : bits[j], odd[j]);
  }
  return BigInt.asUintN(64, key);
}

/** Scramble the bits of a number; zero stays zero. */
function mix(given, odd) {
  let bits = BigInt.asUintN(64, (given ^ (given >> 32n)) * 0x94d049bb133111ebn);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 29n)) * odd);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 29n)) * 0xbf58476d1ce4e5b9n);
  return bits ^ (bits >> 32n);
}

/**
 * The training row that equals a row, or −1; of several, the first.
 *
 * @param {{odd: BigUint64Array, keys: BigUint64Array, rows: Int32Array}} known
 * @param {ArrayLike<number>} row
 */
export function findRow({ odd, keys, rows }, row) {
  const key = rowKey(row, odd);
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < keys.length && keys[low] === key ? rows[low] : -1;
}
