/** This log does not belong with these settings. The message says the remedy. */
export class InstanceMismatchError extends Error {
  override readonly name = "InstanceMismatchError";
}
