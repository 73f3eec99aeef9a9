/** Stands for a dependency that is only used when a page is requested. */
export function stub(): unknown {
  return new Proxy(() => {}, { get: () => stub(), apply: () => stub() });
}
