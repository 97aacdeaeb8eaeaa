// Promises that are settled at once. Imports of a component block, so nothing has to wait for later: `await` takes the value
// of its promise there and then, and whatever could still settle a promise is done first.

const PENDING = 0, FULFILLED = 1, REJECTED = 2;

export class SyncPromise {
  #state = PENDING;
  #value;
  #waiting = [];
  #isHandled = false;

  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("a promise needs a function");
    const { resolve, reject } = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  #resolvers() {
    let done = false;
    const once = (then) => (value) => {
      if (!done) {
        done = true;
        then(value);
      }
    };
    return { resolve: once((value) => this.#adopt(value)), reject: once((error) => this.#settle(REJECTED, error)) };
  }

  #adopt(value) {
    if (value === this) return this.#settle(REJECTED, new TypeError("a promise cannot wait for itself"));
    let then;
    try {
      then = value !== null && (typeof value === "object" || typeof value === "function") ? value.then : undefined;
    } catch (error) {
      return this.#settle(REJECTED, error);
    }
    if (typeof then !== "function") return this.#settle(FULFILLED, value);
    const { resolve, reject } = this.#resolvers();
    try {
      then.call(value, resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    if (state === REJECTED && !this.#isHandled) unhandled.add(this);
    for (const react of this.#waiting.splice(0)) react();
  }

  #handled() {
    this.#isHandled = true;
    unhandled.delete(this);
  }

  then(onFulfilled, onRejected) {
    this.#handled();
    return new SyncPromise((resolve, reject) => {
      const react = () => {
        const handler = this.#state === FULFILLED ? onFulfilled : onRejected;
        if (typeof handler !== "function") return (this.#state === FULFILLED ? resolve : reject)(this.#value);
        try {
          resolve(handler(this.#value));
        } catch (error) {
          reject(error);
        }
      };
      if (this.#state === PENDING) {
        this.#waiting.push(react);
      } else {
        react();
      }
    });
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(onSettled) {
    if (typeof onSettled !== "function") return this.then(onSettled, onSettled);
    return this.then(
      (value) => SyncPromise.resolve(onSettled()).then(() => value),
      (error) => SyncPromise.resolve(onSettled()).then(() => { throw error; }),
    );
  }

  /// What `await` gives. `advance` does something that may settle a promise, and says whether there was anything to do.
  wait(advance) {
    this.#handled();
    while (this.#state === PENDING) {
      if (!advance()) throw new Error("this promise never settles: nothing is left to do that could settle it");
    }
    if (this.#state === REJECTED) throw this.#value;
    return this.#value;
  }

  /// The error of a rejected promise.
  get reason() {
    return this.#value;
  }

  static resolve(value) {
    return value instanceof SyncPromise ? value : new SyncPromise((resolve) => resolve(value));
  }

  static reject(error) {
    return new SyncPromise((_, reject) => reject(error));
  }

  static withResolvers() {
    let resolvers;
    const promise = new SyncPromise((resolve, reject) => { resolvers = { resolve, reject }; });
    return { promise, ...resolvers };
  }

  static try(run, ...args) {
    return new SyncPromise((resolve) => resolve(run(...args)));
  }

  static all(values) {
    return collect(values, (promise, take, { reject }) => promise.then(take, reject));
  }

  static allSettled(values) {
    return collect(values, (promise, take) =>
      promise.then(
        (value) => take({ status: "fulfilled", value }),
        (reason) => take({ status: "rejected", reason }),
      ),
    );
  }

  static any(values) {
    return new SyncPromise((resolve, reject) => {
      const failed = collect(values, (promise, take) => promise.then(resolve, take));
      failed.then((errors) => reject(new AggregateError(errors, "all promises were rejected")), reject);
    });
  }

  static race(values) {
    return new SyncPromise((resolve, reject) => {
      for (const value of values) SyncPromise.resolve(value).then(resolve, reject);
    });
  }
}

/// Rejected promises that nothing has looked at.
const unhandled = new Set();

/// The errors that nobody has handled since the last look.
export function unhandledErrors() {
  const errors = [...unhandled].map((promise) => promise.reason);
  unhandled.clear();
  return errors;
}

function collect(values, wait) {
  return new SyncPromise((resolve, reject) => {
    const found = [];
    let open = 1;
    const close = () => {
      open -= 1;
      if (open === 0) resolve(found);
    };
    let at = 0;
    for (const value of values) {
      const index = at++;
      open += 1;
      const take = (result) => {
        found[index] = result;
        close();
      };
      wait(SyncPromise.resolve(value), take, { reject });
    }
    close();
  });
}
