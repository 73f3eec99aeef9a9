import { join } from "node:path";
import { projections } from "../projections/index.ts";
import { sqliteReadDatabases } from "./adapters/sqlite/readDatabase.ts";
import type { Config } from "./config.ts";
import { openStore } from "./openParts.ts";
import { followReadModels } from "./readModels/follow.ts";
import { type FollowAnswer, type FollowMessage, followRelay } from "./readModels/messages.ts";

/** What the thread is told when it begins. */
export interface ThreadStart extends Pick<Config, "storeUrl" | "storeTimeoutMs" | "dataDir"> {
  readonly logId: string;
}

/** To the thread: begin, end, or an answer to one of its events. */
export type ToThread = { readonly start: ThreadStart } | { readonly stop: true } | FollowAnswer;

/** From the thread: an event, or its end with the reason of it, null when it was told to end. */
export type FromThread = FollowMessage | { readonly ended: string | null };

declare const self: Worker;

// Applying events is work that never waits; on a thread of its own it takes no time from requests.
const stopped = new AbortController();
const post = (message: FromThread) => self.postMessage(message);
const relay = followRelay(post);

async function follow({ storeUrl, storeTimeoutMs, dataDir, logId }: ThreadStart): Promise<void> {
  const store = await openStore({ storeUrl, storeTimeoutMs });
  const place = { databases: sqliteReadDatabases, directory: join(dataDir, "projections"), logId };
  try {
    await followReadModels({ ...place, store, projections, onEvent: relay.onEvent, signal: stopped.signal });
  } finally {
    await store.close();
  }
}

self.onmessage = ({ data }: MessageEvent<ToThread>) => {
  if ("stop" in data) stopped.abort();
  else if ("answerTo" in data) relay.receive(data);
  else {
    follow(data.start).then(
      () => post({ ended: null }),
      (error: unknown) => post({ ended: error instanceof Error ? error.message : String(error) }),
    );
  }
};
