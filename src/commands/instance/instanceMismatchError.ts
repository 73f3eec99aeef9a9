/** The log does not match these settings. The message gives the remedy. */
export class InstanceMismatchError extends Error {
  override readonly name = "InstanceMismatchError";
}
