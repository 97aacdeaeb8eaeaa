// Node's `perf_hooks`: its clock.

export const { performance } = globalThis;
export default { performance };
