import type { TestProcess } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import type { Load, Post } from "./load.ts";
import type { Copy, RawSink, SinkStage } from "./rawSink.ts";
import type { Generation, ServiceUnderTest } from "./serviceUnderTest.ts";

/** Where in the life of a message a kill falls. */
export const WINDOWS = ["accept", "claim to final dot", "final dot to outcome"] as const;
export type KillWindow = (typeof WINDOWS)[number];

/** What a kill is placed with. */
export interface KillContext {
  readonly service: ServiceUnderTest;
  readonly sink: RawSink;
  readonly load: Load;
}

/** A kill that has happened. */
export interface Kill {
  readonly window: KillWindow;
  readonly generation: Generation;
  /** Whether it fell into its window, by evidence; asks the service that was started after it. */
  verify(next: TestProcess): Promise<boolean>;
}

/** How far into the load a kill is placed, in events of its kind. */
const ORDINAL_MAX = 40;
const ACCEPT_DELAY_MS_MAX = 250;
const CLAIM_DELAY_MS_MAX = 20;
const DOT_DELAY_MS_MAX = 5;
/** Copies that came this long before a kill may be without outcome. */
const RECENT_MS = 1_000;
/** A load that brings nothing to the sink for so long has found a fault. */
const STAGE_MS_MAX = 30_000;
/** What the killed process had written may still be on its way to the sink. */
const DISCONNECT_MS_MAX = 30_000;

function randomBelow(max: number): number {
  return Math.floor(Math.random() * max);
}

/** Busy-waits without yielding to the event loop, because timers are too coarse. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** `kill -9` in the given window, under load. The load has stopped when this resolves. */
export async function killIn(window: KillWindow, context: KillContext): Promise<Kill> {
  context.load.start();
  try {
    if (window === "accept") return await killWhileAccepting(context);
    if (window === "claim to final dot") return await killBeforeFinalDot(context);
    return await killAfterFinalDot(context);
  } finally {
    context.sink.onStage = null;
    await context.load.stop();
  }
}

/** Kills the process, and waits until nothing of it is in flight. */
async function kill({ service, sink, load }: KillContext): Promise<Generation> {
  const ended = service.end("SIGKILL");
  await Promise.all([ended, load.stop()]);
  await until(
    () => sink.connectionsOpen() === 0,
    "the dead process's connections to close",
    DISCONNECT_MS_MAX,
  );
  return ended;
}

/** Evidence: requests in flight that were never answered. */
async function killWhileAccepting(context: KillContext): Promise<Kill> {
  await Bun.sleep(randomBelow(ACCEPT_DELAY_MS_MAX));
  const open = (): readonly Post[] => context.load.inFlight().filter((post) => post.receipt === null);
  await until(() => open().length > 0, "a request to be in flight", STAGE_MS_MAX);
  const underWay = open();
  const generation = await kill(context);
  const isUnanswered = underWay.some((post) => post.receipt === null);
  return { window: "accept", generation, verify: async () => isUnanswered };
}

/** Evidence: the sink received MAIL FROM, which follows the claim, but not the final dot. */
async function killBeforeFinalDot(context: KillContext): Promise<Kill> {
  const { sink } = context;
  const stage = (["mail", "rcpt", "data"] as const)[randomBelow(3)] ?? "data";
  await stageReached(sink, stage, { hold: true });
  await Bun.sleep(randomBelow(CLAIM_DELAY_MS_MAX));
  const generation = await kill(context);
  const wasInterrupted = sink.interrupted.some((transaction) => transaction.generation === generation.number);
  return { window: "claim to final dot", generation, verify: async () => wasInterrupted };
}

/** Evidence: the sink has the message, and the log shows the claim without its outcome. */
async function killAfterFinalDot(context: KillContext): Promise<Kill> {
  const { sink } = context;
  const hold = Math.random() < 0.5;
  await stageReached(sink, "final", { hold });
  // After the reply the outcome is recorded within a millisecond or two, so the kill must come sooner than a timer can.
  spin(Math.random() * (hold ? DOT_DELAY_MS_MAX : 1));
  const generation = await kill(context);
  const recent = sink.copies.filter(
    (copy) => copy.generation === generation.number && copy.at >= generation.endedAt - RECENT_MS,
  );
  return {
    window: "final dot to outcome",
    generation,
    verify: async (next) => {
      const open = await Promise.all(recent.slice(-ORDINAL_MAX).map((copy) => hasNoOutcome(next, copy)));
      return open.includes(true);
    },
  };
}

/** Resolves at a random one of the next events of this stage. Its reply is held back for ever, or was just sent. */
function stageReached(sink: RawSink, stage: SinkStage, { hold }: { hold: boolean }): Promise<void> {
  let left = 1 + randomBelow(ORDINAL_MAX);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no message reached "${stage}" within ${STAGE_MS_MAX} ms of load`)),
      STAGE_MS_MAX,
    );
    sink.onStage = (at) => {
      if (at !== stage) return undefined;
      left -= 1;
      if (left !== 0) return undefined;
      clearTimeout(timer);
      if (hold) {
        resolve();
        return new Promise(() => {});
      }
      setImmediate(resolve);
      return undefined;
    };
  });
}

interface TimelineEvent {
  readonly type: string;
  readonly reason?: string;
}

async function hasNoOutcome(service: TestProcess, copy: Copy): Promise<boolean> {
  const { json } = await service.call("GET", `/api/v1/emails/${copy.id}`);
  const last: TimelineEvent | undefined = json?.timeline?.at(-1);
  return last?.type === "delivery_started" || (last?.type === "deferred" && last.reason === "lease_expired");
}
