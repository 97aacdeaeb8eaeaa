// What Headers and FormData have in common: pairs of a name and a value, in order.

/** A class of pairs has `entries`. */
export class Pairs {
  forEach(work, self) {
    for (const [name, value] of this.entries()) {
      work.call(self, value, name, this);
    }
  }

  keys() {
    return Array.from(this.entries(), ([name]) => name).values();
  }

  values() {
    return Array.from(this.entries(), ([, value]) => value).values();
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}
