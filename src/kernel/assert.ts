/** Closes a `switch` over a union. A forgotten member fails to compile, and throws if it is ever reached. */
export function never(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** Throws when an invariant of our own code does not hold. Not for bad input, which is reported as a value. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
