import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProcess } from "../support/service.ts";
import { type Audit, audit } from "./audit.ts";
import { type Kill, type KillWindow, killIn, type Scene, WINDOWS } from "./killWindows.ts";
import { Load, type Post } from "./load.ts";
import { type PlantName, plant } from "./plants.ts";
import { startRawSink } from "./rawSink.ts";
import { DRAIN_MS_MAX, ServiceUnderTest, type StoreName } from "./serviceUnderTest.ts";
import { checkSyncs, parseTrace, readTrace, tracer, whyNoTracer } from "./syncWatch.ts";
import { settle, waitUntilTerminal } from "./waitUntilTerminal.ts";

export interface CrashOptions {
  readonly store: StoreName;
  /** Shared out over the windows. */
  readonly kills: number;
  /** Stops by SIGTERM under load, spread over the run. */
  readonly sigterms: number;
  /** How long after the last kill a message may take to reach its terminal state. */
  readonly terminalMsMax: number;
  readonly plant?: PlantName;
  readonly onProgress?: (done: number, note: string) => void;
}

export interface CrashReport extends Audit {
  readonly store: StoreName;
  /** All of them, also those that missed their window. */
  readonly kills: number;
  /** Kills that fell into their window, by evidence. */
  readonly killsIn: Readonly<Record<KillWindow, number>>;
  readonly sigterms: number;
  /** Requests that a kill had left without an answer, and how many of those had been accepted by then. */
  readonly cutOff: number;
  readonly cutOffAccepted: number;
  /** What was found about waiting for the disk. */
  readonly syncWatch: string;
}

const POSTERS = 12;
const BACKLOG_MAX = 150;
const WATCHED_SENDS = 20;
/** How long a tracer may take to write the end of what it saw. */
const TRACE_MS_MAX = 10_000;
/** A kill that misses its window is tried again, but not for ever. */
const TRIES_PER_KILL_MAX = 3;
/** Accepted messages that are asked for again after each start. */
const REPEATS = 5;
const SIGTERM_LOAD_MS_MAX = 400;
/** The sink takes its time while SIGTERM comes, so that there is something to drain. */
const SLOW_SINK_MS_MAX = 100;
/** What a process may take on top of its drain. */
const EXIT_MS_MAX = 2_000;

/** Runs the whole of it; a fault shows in `problems`. Throws when it cannot even be run. */
export async function runCrash(options: CrashOptions): Promise<CrashReport> {
  const root = options.plant === undefined ? undefined : await plant(options.plant);
  const sink = await startRawSink();
  const smtpPort = sink.port;
  const service = await ServiceUnderTest.create({ store: options.store, smtpPort, ...(root ? { root } : {}) });
  const load = new Load({
    posters: POSTERS,
    backlogMax: BACKLOG_MAX,
    backlog: (accepted) => accepted - sink.copiesById.size,
  });
  try {
    return await new CrashRun(options, { service, sink, load }).run();
  } finally {
    await service.remove();
    await sink.close();
    if (root) await rm(root, { recursive: true, force: true });
  }
}

class CrashRun {
  private readonly problems: string[] = [];
  private readonly killsIn: Record<KillWindow, number> = {
    accept: 0,
    "claim to final dot": 0,
    "final dot to outcome": 0,
  };
  private kills = 0;
  private sigterms = 0;
  private cutOff = 0;
  private cutOffAccepted = 0;
  private unverified: Kill | null = null;

  constructor(
    private readonly options: CrashOptions,
    private readonly scene: Scene,
  ) {}

  async run(): Promise<CrashReport> {
    const syncWatch = await this.watchSyncs();
    const planned = plan(this.options);
    for (const [index, step] of planned.entries()) {
      this.options.onProgress?.(index / planned.length, step);
      if (step === "SIGTERM") await this.terminate();
      else await this.killUntilHit(step);
    }
    await this.start();
    await this.scene.service.end("SIGTERM");
    await this.start();
    const late = await waitUntilTerminal(this.scene.service.running, this.scene.load.posts, this.options.terminalMsMax);
    this.problems.push(...late);
    this.checkExit((await this.scene.service.end("SIGTERM")).exitCode);
    return this.report(syncWatch);
  }

  private async report(syncWatch: string): Promise<CrashReport> {
    const { service, sink, load } = this.scene;
    const { env, generations } = service;
    const found = await audit({ env, posts: load.posts, sink, generations });
    return {
      ...found,
      store: this.options.store,
      kills: this.kills,
      killsIn: this.killsIn,
      sigterms: this.sigterms,
      cutOff: this.cutOff,
      cutOffAccepted: this.cutOffAccepted,
      syncWatch,
      problems: [...this.problems, ...load.problems, ...found.problems],
    };
  }

  /** Starts the service, lets the last kill be verified, and asks again for everything that got no answer. */
  private async start(env: Readonly<Record<string, string>> = {}): Promise<TestProcess> {
    const { service, sink, load } = this.scene;
    sink.generation = service.generations.length + 1;
    const process = await service.start(env);
    await this.verifyLast(process);
    const left = load.unanswered();
    const { stillUnanswered, accepted } = await settle(process, load, left);
    this.cutOff += left.length;
    this.cutOffAccepted += accepted;
    this.problems.push(...stillUnanswered.map(({ key }) => `${key} got no 202 from a service that runs undisturbed`));
    await this.repeatSome();
    return process;
  }

  private async verifyLast(next: TestProcess): Promise<void> {
    const last = this.unverified;
    this.unverified = null;
    if (last && (await last.verify(next))) this.killsIn[last.window] += 1;
  }

  /** Some of what was accepted long ago is asked for again: the receipts must be the first ones. */
  private async repeatSome(): Promise<void> {
    const { load } = this.scene;
    const accepted = load.posts.filter(({ receipt }) => receipt !== null);
    const some: Post[] = Array.from({ length: Math.min(REPEATS, accepted.length) }, () => {
      return accepted[Math.floor(Math.random() * accepted.length)] as Post;
    });
    await Promise.all(some.map((post) => load.request(post)));
  }

  private async killUntilHit(window: KillWindow): Promise<void> {
    const wanted = this.killsIn[window] + 1;
    for (let attempt = 0; attempt < TRIES_PER_KILL_MAX && this.killsIn[window] < wanted; attempt += 1) {
      // While nothing is delivered, a kill can only hit the acceptance; with delivery on, both at once.
      const idle = window === "accept" && Math.random() < 0.5;
      await this.start(idle ? { DELIVERY: "off" } : {});
      this.unverified = await killIn(window, this.scene);
      this.kills += 1;
      if (window !== "final dot to outcome") await this.verifyLast(this.scene.service.lastProcess);
      else await this.verifyNow();
    }
    if (this.killsIn[window] < wanted)
      this.problems.push(`${TRIES_PER_KILL_MAX} kills meant for "${window}" in a row have missed it`);
  }
}
