import { MINUTE_MS } from "../../kernel/time.ts";

/** How long a client may take for each part of a session, in ms, even while it keeps sending. */
export const SESSION_MS_MAX = {
  /** From the connection to the end of the log-in. */
  logIn: MINUTE_MS,
  /** From the log-in, or the previous mail, to DATA. */
  envelope: 5 * MINUTE_MS,
  /** From DATA to the end of the content. */
  content: 10 * MINUTE_MS,
} as const;

type SessionPart = keyof typeof SESSION_MS_MAX;

/** Ends sessions of slow clients. The library limits only their silence. */
export class SessionDeadlines {
  private readonly timers = new Map<string, Timer>();

  constructor(private readonly end: (sessionId: string) => void) {}

  /** Moves a session to another part, whose time starts now. */
  enter(sessionId: string, part: SessionPart): void {
    this.leave(sessionId);
    this.timers.set(
      sessionId,
      setTimeout(() => this.end(sessionId), SESSION_MS_MAX[part]),
    );
  }

  /** Stops a session's time, because its client waits for us or has left. */
  leave(sessionId: string): void {
    clearTimeout(this.timers.get(sessionId));
    this.timers.delete(sessionId);
  }
}
