/** Closes a `switch` over a union: a member that was forgotten fails to compile, and throws if it ever runs. */
export function never(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** Throws when an invariant of our own code does not hold. Never used for bad input: that is a value. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
