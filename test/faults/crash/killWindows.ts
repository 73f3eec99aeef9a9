import type { TestProcess } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import type { Load, Post } from "./load.ts";
import type { Copy, RawSink, SinkStage } from "./rawSink.ts";
import type { Generation, ServiceUnderTest } from "./serviceUnderTest.ts";

/** Where in the life of a message a kill falls. */
export const WINDOWS = ["accept", "claim to final dot", "final dot to outcome"] as const;
export type KillWindow = (typeof WINDOWS)[number];

/** What a kill is placed with. */
export interface Scene {
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
const STAGE_MS_MAX = 15_000;
/** What the killed process had written may still be on its way to the sink. */
const DISCONNECT_MS_MAX = 5_000;

function randomBelow(max: number): number {
  return Math.floor(Math.random() * max);
}

/** Waits without giving the event loop a chance: shorter than any timer can. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** `kill -9` in the given window, under load. The load is over when this settles. */
export async function killIn(window: KillWindow, scene: Scene): Promise<Kill> {
  scene.load.start();
  try {
    if (window === "accept") return await killWhileAccepting(scene);
    if (window === "claim to final dot") return await killBeforeFinalDot(scene);
    return await killAfterFinalDot(scene);
  } finally {
    scene.sink.onStage = null;
    await scene.load.stop();
  }
}

/** Kills, and waits until the dead process has nothing in flight any more. */
async function kill({ service, sink, load }: Scene): Promise<Generation> {
  const ended = service.end("SIGKILL");
  await Promise.all([ended, load.stop()]);
  await until(
    () => sink.connectionsOpen() === 0,
    "the dead process's connections to close",
    DISCONNECT_MS_MAX,
  );
  return ended;
}

/** Evidence: requests in flight that never got an answer. */
async function killWhileAccepting(scene: Scene): Promise<Kill> {
  await Bun.sleep(randomBelow(ACCEPT_DELAY_MS_MAX));
  const open = (): readonly Post[] => scene.load.inFlight().filter((post) => post.receipt === null);
  await until(() => open().length > 0, "a request to be in flight", STAGE_MS_MAX);
  const underWay = open();
  const generation = await kill(scene);
  const cutOff = underWay.some((post) => post.receipt === null);
  return { window: "accept", generation, verify: async () => cutOff };
}

/** Evidence: the sink had heard MAIL FROM, which follows the claim, and never saw the final dot. */
async function killBeforeFinalDot(scene: Scene): Promise<Kill> {
  const { sink } = scene;
  const stage = (["mail", "rcpt", "data"] as const)[randomBelow(3)] ?? "data";
  await stageReached(sink, stage, { hold: true });
  await Bun.sleep(randomBelow(CLAIM_DELAY_MS_MAX));
  const generation = await kill(scene);
  const cutShort = sink.cutShort.some((transaction) => transaction.generation === generation.number);
  return { window: "claim to final dot", generation, verify: async () => cutShort };
}

/** Evidence: the sink has the message, and its log shows the claim without an outcome of its own. */
async function killAfterFinalDot(scene: Scene): Promise<Kill> {
  const { sink } = scene;
  const hold = Math.random() < 0.5;
  await stageReached(sink, "final", { hold });
  // Once answered, the outcome is a matter of a millisecond or two: the kill must be sooner than a timer.
  spin(Math.random() * (hold ? DOT_DELAY_MS_MAX : 1));
  const generation = await kill(scene);
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

/** Settles at one of the next events of this stage, at random; its answer is held back for ever, or just gone. */
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
