/** The event in the stream `instance` after which the log may have events of a newer format. */
export const LOG_FORMAT_RAISED = "LogFormatRaised";

/** Which events a program can read and which it writes, as numbers that only grow. */
export interface LogFormat {
  readonly reads: number;
  readonly writes: number;
}

/**
 * Each release that knows a new event type, or a new version of one, has a new format. A log states its format by
 * {@link LOG_FORMAT_RAISED} before the first event of that format, so older programs stop there instead of skipping
 * events that they do not ask for. A release must read a format before any release writes it: raise `reads` in one
 * release, `writes` in the next.
 */
export const LOG_FORMAT: LogFormat = { reads: 1, writes: 1 };
