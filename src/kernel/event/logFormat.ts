/** The event, in the stream of the instance, after which the log may hold events of a newer format. */
export const LOG_FORMAT_RAISED = "LogFormatRaised";

/** Which events a program can read, and which ones it writes, as a number that only grows. */
export interface LogFormat {
  readonly reads: number;
  readonly writes: number;
}

/**
 * Each release that knows a new event type, or a new version of one, has a format of its own. A log names its own by
 * {@link LOG_FORMAT_RAISED}, which comes before the first event of that format: so whoever reads less stops there,
 * and does not pass over events that it was never shown. A release reads a format before any release writes it:
 * raise `reads` in one, `writes` in the next.
 */
export const LOG_FORMAT: LogFormat = { reads: 1, writes: 1 };
