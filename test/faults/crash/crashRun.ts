import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Audit, audit } from "./audit.ts";
import { type Kill, type KillContext, type KillWindow, killIn, WINDOWS } from "./killWindows.ts";
import { Load, type Post } from "./load.ts";
import { type PlantName, plant } from "./plants.ts";
import { startRawSink } from "./rawSink.ts";
import { DRAIN_MS_MAX, type Generation, ServiceUnderTest, type StoreName } from "./serviceUnderTest.ts";
import { repeatRequests, waitUntilTerminal } from "./settle.ts";
import { checkSyncs, parseTrace, readTrace, tracer, whyNoTracer } from "./syncWatch.ts";

export interface CrashOptions {
  readonly store: StoreName;
  /** Shared out over the windows. */
  readonly kills: number;
  /** All of them unless given. */
  readonly windows?: readonly KillWindow[];
  /** Further kills, spread over the run, of a service that is only just starting after another kill. */
  readonly startKills: number;
  /** Stops by SIGTERM under load, spread over the run. */
  readonly sigterms: number;
  /** How long after the last kill a message may take to reach its terminal state. */
  readonly terminalMsMax: number;
  readonly plant?: PlantName;
  readonly leaseMs?: number;
  readonly onProgress?: (done: number, note: string) => void;
}

export interface CrashReport extends Audit {
  readonly store: StoreName;
  /** All of them, also those that missed their window. */
  readonly kills: number;
  /** Kills that fell into their window, by evidence. */
  readonly killsIn: Readonly<Record<KillWindow, number>>;
  /** Kills of a service that was starting. */
  readonly killsInStart: number;
  readonly sigterms: number;
  /** Requests that a kill had left without an answer, and how many of those had been accepted by then. */
  readonly cutOff: number;
  readonly cutOffAccepted: number;
  /** The result of watching the waits for the disk. */
  readonly syncWatch: string;
}

const POSTERS = 12;
const BACKLOG_MAX = 150;
const WATCHED_SENDS = 20;
/** How long a tracer may take to write the end of what it saw. */
const TRACE_MS_MAX = 50_000;
/** Accepted messages that are asked for again after each start. */
const REPEATS = 5;
/** About what a start takes. */
const START_MS_MAX = 700;
const SIGTERM_LOAD_MS_MAX = 400;
/** The sink takes its time while SIGTERM comes, so that there is something to drain. */
const SLOW_SINK_MS_MAX = 100;
/** What a process may take on top of its drain, on a busy machine. */
const EXIT_MS_MAX = 15_000;

/** Runs the whole of it; a fault shows in `problems`. Throws when it cannot even be run. */
export async function runCrash(options: CrashOptions): Promise<CrashReport> {
  const root = options.plant === undefined ? undefined : await plant(options.plant);
  const sink = await startRawSink();
  const smtpPort = sink.port;
  const service = await ServiceUnderTest.create({
    store: options.store,
    smtpPort,
    ...(options.leaseMs && { env: { DELIVERY_LEASE_MS: String(options.leaseMs) } }),
    ...(root ? { root } : {}),
  });
  const load = new Load({
    posters: POSTERS,
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
  private killsInStart = 0;
  private sigterms = 0;
  private cutOff = 0;
  private cutOffAccepted = 0;
  private unverified: Kill | null = null;

  constructor(
    private readonly options: CrashOptions,
    private readonly context: KillContext,
  ) {}

  async run(): Promise<CrashReport> {
    const syncWatch = await this.watchSyncs();
    const steps = plan(this.options);
    const stepsMax = steps.length + this.options.kills;
    await this.start(settingsFor(steps[0]));
    for (let done = 0; done < stepsMax; done += 1) {
      const step = steps.shift();
      if (step === undefined) break;
      this.options.onProgress?.(done / (done + steps.length + 1), step);
      if (!(await this.perform(step))) break;
      const hit = await this.start(settingsFor(steps[0]));
      // A kill that has missed its window is one more kill, not one less in the window.
      if (!hit) steps.push(step);
    }
    return this.finish(syncWatch);
  }

  /** False when the load never reached the start of the step, so that the run cannot continue. */
  private async perform(step: Step): Promise<boolean> {
    try {
      if (step === "SIGTERM") await this.terminate();
      else if (step === "start") await this.killStart();
      else await this.kill(step);
      return true;
    } catch (error) {
      this.problems.push(`${step}: ${error instanceof Error ? error.message : error}`);
      return false;
    }
  }

  /** Every message gets its time to end; then everything is compared. */
  private async finish(syncWatch: string): Promise<CrashReport> {
    const { service, sink, load } = this.context;
    const { kills, killsIn, killsInStart, sigterms, cutOff, cutOffAccepted } = this;
    const late = await waitUntilTerminal(service.running, load.posts, this.options.terminalMsMax);
    this.checkStop(await service.end("SIGTERM"), Date.now());
    const { env, generations } = service;
    const found = await audit({ env, posts: load.posts, sink, generations });
    const problems = [...this.problems, ...load.problems, ...late, ...found.problems];
    const counts = { kills, killsIn, killsInStart, sigterms, cutOff, cutOffAccepted };
    return { ...found, ...counts, store: this.options.store, syncWatch, problems };
  }

  /**
   * Starts the service, has the last kill verified, and asks again for everything that got no answer. Answers
   * whether the last kill was where it was meant to be.
   */
  private async start(settings: Readonly<Record<string, string>>): Promise<boolean> {
    const { service, sink, load } = this.context;
    sink.generation = service.generations.length + 1;
    const process = await service.start(settings);
    const last = this.unverified;
    this.unverified = null;
    const hit = last === null || (await last.verify(process));
    if (last && hit) this.killsIn[last.window] += 1;
    load.setTarget(process);
    const left = load.unanswered();
    const accepted = await repeatRequests(load, left);
    this.cutOff += left.length;
    this.cutOffAccepted += accepted;
    for (const { key } of load.unanswered())
      this.problems.push(`${key} got no 202 from a service that runs undisturbed`);
    await this.repeatSome();
    return hit;
  }

  /** Repeats some sends accepted long ago: the receipts must be the first ones. */
  private async repeatSome(): Promise<void> {
    const { load } = this.context;
    const accepted = load.posts.filter(({ receipt }) => receipt !== null);
    const some = Array.from({ length: Math.min(REPEATS, accepted.length) }, () => {
      return accepted[Math.floor(Math.random() * accepted.length)] as Post;
    });
    await Promise.all(some.map((post) => load.request(post)));
  }

  private async kill(window: KillWindow): Promise<void> {
    const { load } = this.context;
    load.backlogMax = window === "accept" ? Number.POSITIVE_INFINITY : BACKLOG_MAX;
    this.unverified = await killIn(window, this.context);
    this.kills += 1;
  }

  /** Two kills in a row: the second falls into the recovery from the first. */
  private async killStart(): Promise<void> {
    const { service, sink } = this.context;
    await service.end("SIGKILL");
    sink.generation = service.generations.length + 1;
    await service.killStart(Math.random() * START_MS_MAX);
    this.kills += 2;
    this.killsInStart += 1;
  }

  /** SIGTERM under load, while a slow sink holds messages: claimed messages must be finished. */
  private async terminate(): Promise<void> {
    const { service, sink, load } = this.context;
    load.backlogMax = BACKLOG_MAX;
    sink.onStage = async () => {
      await Bun.sleep(Math.random() * SLOW_SINK_MS_MAX);
      return undefined;
    };
    load.start();
    await Bun.sleep(SIGTERM_LOAD_MS_MAX * (0.5 + Math.random() / 2));
    const reportedAt = Date.now();
    const generation = await service.end("SIGTERM");
    await load.stop();
    sink.onStage = null;
    this.sigterms += 1;
    this.checkStop(generation, reportedAt);
  }

  private checkStop({ exitCode, endedAt }: Generation, reportedAt: number): void {
    const tookMs = endedAt - reportedAt;
    if (exitCode !== 0) this.problems.push(`SIGTERM ended the service with exit status ${exitCode}`);
    if (tookMs > DRAIN_MS_MAX + EXIT_MS_MAX) this.problems.push(`SIGTERM took ${tookMs} ms`);
  }

  /** On SQLite the disk is waited for in this process, where it can be watched: sends one after another. */
  private async watchSyncs(): Promise<string> {
    if (this.options.store !== "sqlite") return "not watched: EventStoreDB writes in a process of its own";
    const reason = await whyNoTracer();
    if (reason !== null) return `SKIPPED: ${reason}, so nobody has watched that a 202 waits for the disk`;
    const { service, load } = this.context;
    const file = join(tmpdir(), `postledger-trace-${crypto.randomUUID()}`);
    try {
      const process = await service.start({ DELIVERY: "off" }, tracer(file));
      load.setTarget(process);
      for (let sends = 0; sends < WATCHED_SENDS; sends += 1) await load.request(load.newPost());
      await service.end("SIGTERM");
      const trace = await readTrace(file, process.pid, TRACE_MS_MAX);
      const { answers, problems } = checkSyncs(parseTrace(trace));
      this.problems.push(...problems);
      if (answers !== WATCHED_SENDS)
        this.problems.push(`of ${WATCHED_SENDS} watched sends the trace shows ${answers} answered with 202`);
      return `${answers - problems.length} of ${WATCHED_SENDS} watched 202s followed an fdatasync or fsync of the log`;
    } finally {
      await rm(file, { force: true });
    }
  }
}

type Step = KillWindow | "SIGTERM" | "start";

/**
 * The kills, shared out over the windows in turn, with everything else spread among them. The last window comes
 * first: the first start of all must deliver too, and not only one that finds a log.
 */
function plan({ kills, windows = WINDOWS, startKills, sigterms }: CrashOptions): Step[] {
  const steps = Array.from(
    { length: kills },
    (_, index): Step => windows[windows.length - 1 - (index % windows.length)] ?? "accept",
  );
  return spreadEvenly(spreadEvenly(steps, "start", startKills), "SIGTERM", sigterms);
}

function spreadEvenly(steps: readonly Step[], step: Step, times: number): Step[] {
  const result = [...steps];
  for (let index = times; index > 0; index -= 1)
    result.splice(Math.round((steps.length * (index - 0.5)) / times), 0, step);
  return result;
}

/** While nothing is delivered a kill can only hit the acceptance; half of those kills have delivery beside it. */
function settingsFor(step: Step | undefined): Readonly<Record<string, string>> {
  return step === "accept" && Math.random() < 0.5 ? { DELIVERY: "off" } : {};
}
