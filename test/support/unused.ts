/** Stands for what is only used once a page is asked for. */
export function unused(): unknown {
  return new Proxy(() => {}, { get: () => unused(), apply: () => unused() });
}
