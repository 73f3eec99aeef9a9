/**
 * An error for a log line: its kind, its message, and the message of its cause unless the error's own quotes it. By our
 * rule these contain no address, key or content.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, cause } = error;
  const isQuoted = !(cause instanceof Error) || message.includes(cause.message);
  return `${name}: ${message}${isQuoted ? "" : ` (${cause.message})`}`;
}

/** The message of an error, or any other thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
