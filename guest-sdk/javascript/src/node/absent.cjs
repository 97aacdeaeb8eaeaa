// A module of Node that is not in the sandbox. Packages may import it and look at what it has; who uses it is told what is there instead.

function absent(path, instead) {
  const fail = () => {
    throw new Error(`\`${path}\` of Node is not in the sandbox: ${instead}`);
  };
  const isOwn = (target, key) => typeof key === "symbol" || key in target || key === "then" || key === "__esModule";
  const get = (target, key) => (isOwn(target, key) ? target[key] : absent(`${path}.${key}`, instead));
  // A function, so that it can be called and extended.
  return new Proxy(function () {}, { get, apply: fail, construct: fail });
}

// esbuild gives a module's importers an object with the same prototype.
module.exports = (name, instead) => Object.create(absent(name, instead));
