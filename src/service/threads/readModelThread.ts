import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import { AuditSealer, SigningKeyMissingError } from "../../commands/audit/auditSealer.ts";
import { holdAfterLoss } from "../../commands/instance/holdAfterLoss.ts";
import { instanceStatusCache } from "../../commands/instance/instanceStatusCache.ts";
import { parseSigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { workerActor } from "../../kernel/event/actor.ts";
import { newId } from "../../kernel/ids.ts";
import { messageOf, reasonOf } from "../../kernel/text/errorReason.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { auditSealWorker } from "../../reactors/audit/auditSealWorker.ts";
import { ERASING_TYPES } from "../../reactors/content/erasedContentCleanup.ts";
import {
  type FollowAnswer,
  type FollowMessage,
  followRelay,
} from "../../readModels/follow/followerThreadMessages.ts";
import { followReadModels } from "../../readModels/follow/followReadModels.ts";
import { openStoreOfService } from "../adapters/openStore.ts";
import type { Config } from "../config/config.ts";
import { readModelDirectory } from "../config/storeConfig.ts";
import { systemCommandContext } from "../systemCommandContext.ts";
import { workBehindRequests } from "./threadPriority.ts";

type ThreadSetting = "storeUrl" | "storeTimeoutMs" | "dataDir" | "auditSealIntervalMs" | "auditSigningKey";

/** The thread's first message. */
export interface ThreadStart extends Pick<Config, ThreadSetting> {
  readonly logId: string;
}

/** To the thread: begin, end, a damaged file, or an answer to one of its events. */
export type ToThread =
  | { readonly start: ThreadStart }
  | { readonly stop: true }
  /** A file that a reader found damaged. */
  | { readonly damagedFile: string }
  | FollowAnswer;

/**
 * From the thread: an event, why the log could not be sealed, how the log is damaged, or its end with the reason (null
 * if it was told to end).
 */
export type FromThread =
  | FollowMessage
  | { readonly sealTrouble: string }
  | { readonly damagedLog: string }
  | { readonly ended: string | null };

declare const self: Worker;

// Applying and sealing events keeps a thread busy; on its own thread it takes no time from requests.
workBehindRequests();
const stopped = new AbortController();
const damagedFiles = new Set<string>();
const post = (message: FromThread) => self.postMessage(message);
const relay = followRelay(post);

function auditSealingOf(store: EventStore, { auditSealIntervalMs, auditSigningKey }: ThreadStart) {
  const signingKey = auditSigningKey === null ? null : parseSigningKey(auditSigningKey);
  const actor = workerActor(newId());
  let isMissingKeyTold = false;
  return auditSealWorker({
    sealer: new AuditSealer({ store, clock: systemClock, signingKey, actor }),
    instanceStatus: instanceStatusCache(store),
    clock: systemClock,
    intervalMs: auditSealIntervalMs,
    random: Math.random,
    onTrouble(error) {
      // It lasts until an operator acts, and `doctor` shows it, so one line is enough.
      const isKeyMissing = error instanceof SigningKeyMissingError;
      if (isKeyMissing && isMissingKeyTold) return;
      isMissingKeyTold = isKeyMissing;
      post({ sealTrouble: reasonOf(error) });
    },
  });
}

async function follow(start: ThreadStart): Promise<void> {
  const { storeUrl, storeTimeoutMs, logId } = start;
  const store = await openStoreOfService(
    { storeUrl, storeTimeoutMs },
    { onDamage: ({ message }) => post({ damagedLog: message }) },
  );
  const sealing = start.auditSealIntervalMs > 0 ? auditSealingOf(store, start) : null;
  const storage = { databases: sqliteReadDatabases, directory: readModelDirectory(start), logId };
  sealing?.start();
  try {
    await followReadModels({
      ...storage,
      store,
      projections,
      onEvent: relay.onEvent,
      onLogCutShort: () => holdAfterLoss(store, logId, systemCommandContext("system")),
      damagedFiles,
      watchedTypes: ERASING_TYPES,
      signal: stopped.signal,
    });
  } finally {
    await sealing?.stop();
    await store.close();
  }
}

self.onmessage = ({ data }: MessageEvent<ToThread>) => {
  if ("stop" in data) stopped.abort();
  else if ("damagedFile" in data) damagedFiles.add(data.damagedFile);
  else if ("answerTo" in data) relay.receive(data);
  else {
    follow(data.start).then(
      () => post({ ended: null }),
      (error: unknown) => post({ ended: messageOf(error) }),
    );
  }
};
