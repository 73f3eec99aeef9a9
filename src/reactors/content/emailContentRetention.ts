import { oldContent, workspacesRetaining } from "../../../projections/emails/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { expireEmailContent } from "../../commands/erasure/eraseEmailContent.ts";
import { readWorkspaceLimits } from "../../commands/workspace/readWorkspaceLimits.ts";
import { LIMIT_RANGES } from "../../domain/workspace/workspaceLimits.ts";
import { mailOwnerOf } from "../../kernel/liveOrTestOwner.ts";
import { DAY_MS, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { tryOne } from "../worker/forEachRow.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import { type PeriodicWorker, periodicWorker, type Round } from "../worker/periodicWorker.ts";
import type { PollingWork } from "../worker/pollingWorker.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";

interface ContentRetentionOptions extends Pick<PollingWork, "worker" | "random" | "onTrouble"> {
  readonly deps: Dependencies;
  readonly emails: ReadDatabase;
  /** How often to look for content past its retention. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = MINUTE_MS;
/** The first round comes at a random time within this, so instances do not start together. */
const FIRST_DELAY_MS_MAX = 1_000;
/** Messages of one workspace to take in one page. */
const PAGE_EMAILS = 500;
/** Pause before the next page: the read model may briefly still show what was just erased. */
const PAGE_SPACING_MS = 250;

/**
 * Erases the content of messages that have ended and are past their workspace's retention, the oldest first. The
 * current limit applies to messages of any age. Several instances may handle the same message: the stream decides.
 */
export function emailContentRetention(options: ContentRetentionOptions): PeriodicWorker {
  const { deps, emails, worker, random, intervalMs = INTERVAL_MS, onTrouble } = options;
  const { clock } = deps;
  const now = jumpProofTime(clock);

  const expire = (workspaceId: string, id: string, before: number) =>
    tryOne(
      () => expireEmailContent(deps, id, before, workerCommandContext({ clock, worker }, workspaceId)),
      (error) => onTrouble(error, id),
    );

  /** Returns whether there may be more. What could not be erased waits for the next round. */
  const retirePage = async (stopping: AbortSignal, ownerId: string, seen: Set<string>): Promise<boolean> => {
    const workspaceId = mailOwnerOf(ownerId).workspaceId;
    const { contentRetentionDays } = await readWorkspaceLimits(deps, workspaceId);
    const before = now() - contentRetentionDays * DAY_MS;
    const found = oldContent(emails, ownerId, rfc3339(before), PAGE_EMAILS);
    const ids = found.filter((id) => !seen.has(id));
    // In random order, so that instances do not go through the same messages side by side.
    const order = ids.map((id) => ({ id, at: random() })).sort((a, b) => a.at - b.at);
    for (const { id } of order) {
      if (stopping.aborted) return false;
      seen.add(id);
      await expire(workspaceId, id, before);
    }
    return ids.length > 0 && found.length === PAGE_EMAILS;
  };

  const round = async ({ stopping, sleep }: Round) => {
    // No workspace keeps content for less time than this.
    const soonest = rfc3339(now() - LIMIT_RANGES.contentRetentionDays.min * DAY_MS);
    for (const { ownerId, since } of workspacesRetaining(emails)) {
      if (since > soonest) continue;
      let seen = new Set<string>();
      while (!stopping.aborted && (await retirePage(stopping, ownerId, seen))) {
        // We only need to remember what the read model may still show.
        if (seen.size > 4 * PAGE_EMAILS) seen = new Set([...seen].slice(-PAGE_EMAILS));
        await sleep(PAGE_SPACING_MS);
      }
    }
  };

  return periodicWorker({
    round,
    intervalMs,
    firstDelayMs: FIRST_DELAY_MS_MAX * random(),
    onTrouble: (error) => onTrouble(error, ""),
  });
}
