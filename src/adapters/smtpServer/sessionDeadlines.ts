import { MINUTE_MS } from "../../kernel/time.ts";

/** How long a client may take for each part of a session, in ms, however busy its connection is. */
export const SESSION_MS_MAX = {
  /** From the connection to the end of the log-in. */
  logIn: MINUTE_MS,
  /** From the log-in, or the mail before, to DATA. */
  envelope: 5 * MINUTE_MS,
  /** From DATA to the end of the content. */
  content: 10 * MINUTE_MS,
} as const;

/** The part of a session that its client is in. */
export type SessionPart = keyof typeof SESSION_MS_MAX;

/** Ends sessions whose clients dawdle: the library knows how long one is silent, and nothing else. */
export class SessionDeadlines {
  private readonly timers = new Map<string, Timer>();

  constructor(private readonly end: (sessionId: string) => void) {}

  /** A session moves on to another part, whose time begins now. */
  enter(sessionId: string, part: SessionPart): void {
    this.leave(sessionId);
    this.timers.set(
      sessionId,
      setTimeout(() => this.end(sessionId), SESSION_MS_MAX[part]),
    );
  }

  /** The client owes us nothing: it waits for us, or is gone. */
  leave(sessionId: string): void {
    clearTimeout(this.timers.get(sessionId));
    this.timers.delete(sessionId);
  }
}
