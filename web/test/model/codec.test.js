import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { decode, decodeBlob, fromBase64 } from "../../src/model/codec.js";

const WIDTH = { f4: 4, f8: 8, i4: 4, u1: 1, u2: 2, u4: 4, u8: 8 };

/** A blob as Python writes it: header, padding, and arrays plane by plane. */
function blobOf(state, typed) {
  const arrays = [];
  const parts = [];
  let offset = 0;
  for (const [type, values] of typed) {
    const bytes = new Uint8Array(values.buffer);
    const planes = Buffer.alloc(Math.ceil(bytes.length / 8) * 8);
    bytes.forEach((byte, i) => {
      const plane = i % WIDTH[type];
      planes[plane * values.length + Math.floor(i / WIDTH[type])] = byte;
    });
    arrays.push([type, offset, values.length]);
    parts.push(planes);
    offset += planes.length;
  }
  const header = Buffer.from(JSON.stringify({ state, arrays }));
  const start = Buffer.alloc(Math.ceil((4 + header.length) / 8) * 8);
  start.writeUInt32LE(header.length);
  header.copy(start, 4);
  return Buffer.concat([start, ...parts]);
}

const STATE = { title: "größe", nested: [{ a: { $array: 0 }, b: { $array: 1 } }], none: null };
const ARRAYS = [
  ["f8", Float64Array.of(0.1, NaN, -3e300)],
  ["u8", BigUint64Array.of(1n, 2n ** 64n - 1n)],
];

test("arrays come back in their places, with all their bits", async () => {
  const text = deflateSync(blobOf(STATE, ARRAYS)).toString("base64");
  const { title, nested, none } = await decode(` ${text}\n`);
  assert.equal(title, "größe");
  assert.equal(none, null);
  assert.deepEqual(nested[0].a, ARRAYS[0][1]);
  assert.deepEqual(nested[0].b, ARRAYS[1][1]);
});

test("every type of number can be read", () => {
  const typed = [
    ["f4", Float32Array.of(1.5, -2)],
    ["i4", Int32Array.of(-1, 2 ** 31 - 1, 7)],
    ["u1", Uint8Array.of(255, 0, 3)],
    ["u2", Uint16Array.of(65535, 1)],
    ["u4", Uint32Array.of(2 ** 32 - 1)],
    ["f8", new Float64Array(0)],
  ];
  const state = typed.map((_, k) => ({ $array: k }));
  decodeBlob(blobOf(state, typed)).forEach((values, k) => assert.deepEqual(values, typed[k][1]));
});

test("base64 is read without Uint8Array.fromBase64", () => {
  assert.deepEqual(fromBase64("AAEC/w=="), Uint8Array.of(0, 1, 2, 255));
});

test("data that are cut short are an error", () => {
  const blob = blobOf(STATE, ARRAYS);
  assert.throws(() => decodeBlob(blob.subarray(0, 3)), /cut short; save the page again/);
  assert.throws(() => decodeBlob(blob.subarray(0, 20)), /cut short/);
  assert.throws(() => decodeBlob(blob.subarray(0, blob.length - 16)), /cut short/);
});

test("an unknown type of array is an error", () => {
  const blob = blobOf({}, [["f4", Float32Array.of(1)]]);
  const wrong = Buffer.from(blob.toString("latin1").replace("f4", "c8"), "latin1");
  assert.throws(() => decodeBlob(wrong), /type "c8"/);
});
