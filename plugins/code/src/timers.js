// `setTimeout`. A program waits in its turn: a timer runs when something waits for it, or at the end.

/// Timers that wait at a time. Bounds memory; a program that starts more has gone astray.
const MOST = 1_000;
/// Milliseconds of one timer: the longest delay that browsers have.
const LONGEST = 2 ** 31 - 1;

export class Timers {
  #sleep;
  #now = 0;
  #next = 1;
  #waiting = [];

  /// `sleep` waits for so many milliseconds.
  constructor(sleep) {
    this.#sleep = sleep;
  }

  set = (run, delay = 0, ...args) => {
    if (typeof run !== "function") throw new TypeError("setTimeout needs a function");
    if (this.#waiting.length >= MOST) throw new RangeError(`more than ${MOST} timers are waiting`);
    const after = Math.min(Math.max(Number(delay) || 0, 0), LONGEST);
    const timer = { id: this.#next++, at: this.#now + after, run: () => run(...args) };
    // Behind those of the same time.
    const before = this.#waiting.findLastIndex((other) => other.at <= timer.at);
    this.#waiting.splice(before + 1, 0, timer);
    return timer.id;
  };

  clear = (id) => {
    this.#waiting = this.#waiting.filter((timer) => timer.id !== id);
  };

  /// Waits for the next timer and runs it; false if there is none.
  next() {
    const timer = this.#waiting.shift();
    if (!timer) return false;
    if (timer.at > this.#now) {
      this.#sleep(timer.at - this.#now);
      this.#now = timer.at;
    }
    timer.run();
    return true;
  }
}
