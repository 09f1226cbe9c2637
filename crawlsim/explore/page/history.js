// What was seen so far, in constant memory: of a long run every second look is forgotten, again and again.

const MOST = 600;

export class Seen {
  constructor() {
    this.clear();
  }

  clear() {
    this.looks = [];
    this.last = null;
    this.stride = 1;
  }

  /** @param {{n: number}} look */
  add(look) {
    this.last = look;
    if (look.n % this.stride === 0) this.looks.push(look);
    if (this.looks.length > MOST) {
      this.stride *= 2;
      this.looks = this.looks.filter((each) => each.n % this.stride === 0);
    }
  }

  /** All that is remembered, and the last. */
  all() {
    const kept = this.looks.at(-1) === this.last;
    return kept || this.last === null ? this.looks : [...this.looks, this.last];
  }
}
