import { domainsVerifiedByRecord } from "../../../projections/senders.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { recheckSenderDomain } from "../../commands/sender/recheckSenderDomain.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { DnsResolver } from "../../ports/dnsResolver.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";

interface DomainRecheckOptions {
  readonly deps: Dependencies;
  readonly senders: ReadDatabase;
  readonly dns: DnsResolver;
  readonly worker: string;
  /** From the end of one round to the next; 0: never. */
  readonly intervalMs: number;
  /** Called when the record of a verified domain disappears, or is back. */
  readonly onChange: (change: "missing" | "found", sender: { id: string; workspaceId: string }) => void;
  readonly onTrouble: (error: unknown, id: string) => void;
}

const PAGE_SENDERS = 100;
/** Between two look-ups, to go easy on name servers. */
const LOOKUP_SPACING_MS = 50;

/** Periodically looks up the DNS records that domains were verified by. */
export function domainRecheckWorker(options: DomainRecheckOptions): PeriodicWorker {
  const { deps, senders, dns, worker, intervalMs, onChange, onTrouble } = options;

  const recheck = async (id: string): Promise<void> => {
    try {
      const context = workerCommandContext({ clock: deps.clock, worker });
      const { outcome, workspaceId } = await recheckSenderDomain(deps, dns, id, context);
      if (outcome !== "unchanged") onChange(outcome, { id, workspaceId });
    } catch (error) {
      // This includes name servers that do not answer, which says nothing about the record.
      onTrouble(error, id);
    }
  };
  const round = async ({ stopping, sleep }: Round): Promise<void> => {
    for (let after = ""; !stopping.aborted; ) {
      const ids = domainsVerifiedByRecord(senders, after, PAGE_SENDERS);
      for (const id of ids) {
        if (stopping.aborted) return;
        await recheck(id);
        await sleep(LOOKUP_SPACING_MS);
      }
      if (ids.length < PAGE_SENDERS) return;
      after = ids.at(-1) ?? after;
    }
  };
  const rounds = periodicWorker({
    round,
    intervalMs,
    // Soon after a start, because nobody remembers when the last round was.
    firstDelayMs: Math.min(intervalMs, MINUTE_MS),
    onTrouble: (error) => onTrouble(error, ""),
  });
  return intervalMs > 0 ? rounds : { ...rounds, start() {} };
}
