/** A queue of numbered items, the one with the least key first. */

/**
 * Binary heap over the items 0, 1, … n − 1. Of equal keys, the item that was put in first leaves
 * first.
 */
export class Queue {
  /** @param {number} n */
  constructor(n) {
    this.size = 0;
    this.items = new Int32Array(n);
    this.keys = new Float64Array(n);
    this.turns = new Float64Array(n);
    this.places = new Int32Array(n).fill(-1);
    this.nextTurn = 0;
  }

  /**
   * Put an item in, or give one that is in it a smaller key.
   *
   * @param {number} item
   * @param {number} key
   */
  push(item, key) {
    if (this.places[item] < 0) {
      this.places[item] = this.size;
      this.items[this.size] = item;
      this.size += 1;
      this.turns[item] = this.nextTurn;
      this.nextTurn += 1;
    }
    this.keys[item] = key;
    this.rise(this.places[item]);
  }

  /** Take the first item out. */
  pop() {
    const first = this.items[0];
    this.places[first] = -1;
    this.size -= 1;
    if (this.size > 0) {
      this.set(0, this.items[this.size]);
      this.sink(0);
    }
    return first;
  }

  /** Whether item a comes before item b. */
  before(a, b) {
    const difference = this.keys[a] - this.keys[b];
    return difference < 0 || (difference === 0 && this.turns[a] < this.turns[b]);
  }

  set(place, item) {
    this.items[place] = item;
    this.places[item] = place;
  }

  rise(from) {
    const item = this.items[from];
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.before(item, this.items[above])) {
        break;
      }
      this.set(place, this.items[above]);
      place = above;
    }
    this.set(place, item);
  }

  sink(from) {
    const item = this.items[from];
    let place = from;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= this.size) {
        break;
      }
      if (below + 1 < this.size && this.before(this.items[below + 1], this.items[below])) {
        below += 1;
      }
      if (!this.before(this.items[below], item)) {
        break;
      }
      this.set(place, this.items[below]);
      place = below;
    }
    this.set(place, item);
  }
}
