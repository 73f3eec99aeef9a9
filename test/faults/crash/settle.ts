import type { TestProcess } from "../../support/service.ts";
import type { Load, Post } from "./load.ts";

/** Requests to the service at once, while nothing disturbs it. */
const PARALLEL = 16;
const POLL_MS = 50;
const WAITING_STATUSES = ["queued", "sending", "deferred"] as const;
const TERMINAL_STATUSES: ReadonlySet<string> = new Set([
  "sent",
  "bounced",
  "failed",
  "suppressed",
  "canceled",
]);

/** Runs `work` on every item, `PARALLEL` at a time. */
async function forEachConcurrently<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  const next = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, next));
}

/**
 * Asks again for posts that got no answer, each twice at the same moment, as an impatient caller would: one
 * message, equal answers. Answers how many had been accepted before the answer was lost.
 */
export async function repeatRequests(load: Load, posts: readonly Post[]): Promise<number> {
  let acceptedBefore = 0;
  await forEachConcurrently(posts, async (post) => {
    const fresh = post.freshAnswers;
    await Promise.all([load.request(post), load.request(post)]);
    if (post.receipt !== null && post.freshAnswers === fresh) acceptedBefore += 1;
  });
  return acceptedBefore;
}

/** Waits until no message is on its way, then looks at each one; answers what has not ended by then. */
export async function waitUntilTerminal(
  service: TestProcess,
  posts: readonly Post[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    while (performance.now() < deadline && (await hasMailInFlight(service))) await Bun.sleep(POLL_MS);
    const late = await unfinished(service, posts, timeoutMs);
    // A message that changes status while the lists are read is in none of them.
    if (late.length === 0 || performance.now() >= deadline) return late;
  }
}

async function unfinished(
  service: TestProcess,
  posts: readonly Post[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const late: string[] = [];
  await forEachConcurrently(posts, async ({ receipt }) => {
    if (receipt === null) return;
    const { status, json } = await service.call("GET", `/api/v1/emails/${receipt.id}`);
    if (status !== 200) late.push(`${receipt.id} got a 202 and reads as ${status}`);
    else if (!TERMINAL_STATUSES.has(json.status))
      late.push(`${receipt.id} is still ${json.status} after ${timeoutMs} ms without disturbance`);
  });
  return late;
}

async function hasMailInFlight(service: TestProcess): Promise<boolean> {
  for (const status of WAITING_STATUSES) {
    const { json } = await service.call("GET", `/api/v1/emails?status=${status}&limit=1`);
    if (json?.data === undefined || json.data.length > 0) return true;
  }
  return false;
}
