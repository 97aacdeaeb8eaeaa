// Promises whose jobs a call drains itself. QuickJS runs the jobs of its own promises only between calls of the component model's
// async ABI, which this host does not use; so the build turns `async` functions into generators over these promises.

const jobs = [];

let idle = () => false;

/** Sets what is done when there are no jobs and a promise is waited for. It returns whether it did something. */
export function whenIdle(work) {
  idle = work;
}

/** Runs all jobs, and those that they add. */
export function drain() {
  while (jobs.length > 0) {
    jobs.shift()();
  }
}

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

export const isThenable = (value) => isObject(value) && typeof value.then === "function";

export class Promise {
  #state = "pending";
  #value;
  #waiting = [];

  constructor(executor) {
    let isResolved = false;
    const once = (settle) => (value) => {
      if (!isResolved) {
        isResolved = true;
        settle(value);
      }
    };
    const reject = once((error) => this.#settle("rejected", error));
    try {
      executor(
        once((value) => this.#resolve(value)),
        reject,
      );
    } catch (error) {
      reject(error);
    }
  }

  #resolve(value) {
    if (value === this) {
      return this.#settle("rejected", new TypeError("a promise cannot wait for itself"));
    }
    if (!isObject(value)) {
      return this.#settle("fulfilled", value);
    }
    let then;
    try {
      ({ then } = value);
    } catch (error) {
      return this.#settle("rejected", error);
    }
    if (typeof then !== "function") {
      return this.#settle("fulfilled", value);
    }
    jobs.push(() => new Promise((resolve, reject) => then.call(value, resolve, reject)).#wait(this));
  }

  #wait(outer) {
    this.#react(
      (value) => outer.#settle("fulfilled", value),
      (error) => outer.#settle("rejected", error),
    );
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((react) => jobs.push(react));
  }

  #react(fulfilled, rejected) {
    const react = () => (this.#state === "fulfilled" ? fulfilled : rejected)(this.#value);
    if (this.#state === "pending") {
      this.#waiting.push(react);
    } else {
      jobs.push(react);
    }
  }

  then(fulfilled, rejected) {
    return new Promise((resolve, reject) => {
      const by = (handler, otherwise) => (value) => {
        if (typeof handler !== "function") {
          return otherwise(value);
        }
        try {
          resolve(handler(value));
        } catch (error) {
          reject(error);
        }
      };
      this.#react(by(fulfilled, resolve), by(rejected, reject));
    });
  }

  catch(rejected) {
    return this.then(undefined, rejected);
  }

  finally(work) {
    return this.then(
      (value) => Promise.resolve(work()).then(() => value),
      (error) =>
        Promise.resolve(work()).then(() => {
          throw error;
        }),
    );
  }

  /** Runs all jobs, and timers until it is settled. The value, or throws the error; throws, too, if nothing can settle it any more. */
  static settled(value) {
    if (!isThenable(value)) {
      drain();
      return value;
    }
    const promise = Promise.resolve(value);
    drain();
    while (promise.#state === "pending" && idle()) {
      drain();
    }
    if (promise.#state === "fulfilled") {
      return promise.#value;
    }
    if (promise.#state === "rejected") {
      throw promise.#value;
    }
    throw new Error("the tool waits for a promise that nothing settles");
  }

  static resolve(value) {
    return value instanceof Promise ? value : new Promise((resolve) => resolve(value));
  }

  static reject(error) {
    return new Promise((_, reject) => reject(error));
  }

  static withResolvers() {
    let made;
    const promise = new Promise((resolve, reject) => {
      made = { resolve, reject };
    });
    return { promise, ...made };
  }

  static all(values) {
    return new Promise((resolve, reject) => {
      const all = [...values];
      let left = all.length;
      const done = () => left === 0 && resolve(all);
      done();
      all.forEach((value, at) =>
        Promise.resolve(value).then((found) => {
          all[at] = found;
          left -= 1;
          done();
        }, reject),
      );
    });
  }

  static allSettled(values) {
    const outcome = (value) =>
      Promise.resolve(value).then(
        (found) => ({ status: "fulfilled", value: found }),
        (reason) => ({ status: "rejected", reason }),
      );
    return Promise.all([...values].map(outcome));
  }

  static race(values) {
    return new Promise((resolve, reject) => {
      for (const value of values) {
        Promise.resolve(value).then(resolve, reject);
      }
    });
  }

  static any(values) {
    return new Promise((resolve, reject) => {
      const errors = [...values];
      let left = errors.length;
      const done = () => left === 0 && reject(new AggregateError(errors, "all promises were rejected"));
      done();
      errors.forEach((value, at) =>
        Promise.resolve(value).then(resolve, (error) => {
          errors[at] = error;
          left -= 1;
          done();
        }),
      );
    });
  }
}
