import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { MailSession } from "../../ports/mail/mailTransport.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import type { RelayCircuitBreaker, RelayPermit } from "./relayCircuitBreaker.ts";

/** How often to look whether a probe is due. A look alone costs nothing. */
const LOOK_MS = 1_000;

/** Whether an open session shows that the fault is over. A message whose connection broke found it unreachable too. */
function isOverWithSession({ hadNoSession, trouble }: RelayFault): boolean {
  return hadNoSession === true || trouble === "unreachable";
}

interface RelayProbeOptions {
  readonly breaker: RelayCircuitBreaker;
  readonly openSession: (permit: RelayPermit) => Promise<MailSession | null>;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/**
 * Opens a session now and then while the relay is in trouble and no message is due that would show whether it lasts. It
 * sends nothing, so a relay that opens sessions and refuses messages stays in trouble.
 */
export function relayProbe({ breaker, openSession, onTrouble }: RelayProbeOptions): PeriodicWorker {
  return periodicWorker({
    intervalMs: LOOK_MS,
    firstDelayMs: LOOK_MS,
    onTrouble: (error) => onTrouble(error, ""),
    async round() {
      if (breaker.trouble === null || !isOverWithSession(breaker.trouble)) return;
      const permit = breaker.acquireIdle();
      if (permit === null) return;
      try {
        const session = await openSession(permit);
        if (session === null) return;
        session.release();
        permit.success();
      } finally {
        permit.release();
      }
    },
  });
}
