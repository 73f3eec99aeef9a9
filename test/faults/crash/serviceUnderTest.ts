import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sourceCommandLine } from "../../support/process/program.ts";
import { type ProcessOptions, startTestProcess, type TestProcess } from "../../support/service.ts";
import {
  type OwnServer,
  startEventStoreDb,
  startSecuredEventStoreDb,
} from "../../support/stores/eventstoredb.ts";

type Environment = Readonly<Record<string, string>>;
/** Starts the server of each store; null where there is none. */
const SERVERS = {
  sqlite: async () => null,
  eventstoredb: startEventStoreDb,
  "eventstoredb-tls": startSecuredEventStoreDb,
} as const satisfies Record<string, () => Promise<OwnServer | null>>;
export type StoreName = keyof typeof SERVERS;
export const STORE_NAMES = Object.keys(SERVERS) as readonly StoreName[];

/**
 * Claims of a process not known to be dead are taken over after this: short, so that a run takes minutes, but longer than
 * an attempt takes on a busy machine, which would be ambiguous without any kill.
 */
const LEASE_MS = 4_000;
export const SMTP_CONNECTIONS_MAX = 4;
/** How long SIGTERM may take. */
export const DRAIN_MS_MAX = 5_000;

/** One process of the service, from its start to its end; times in ms since the epoch. */
export interface Generation {
  readonly number: number;
  readonly startedAt: number;
  /** Whether it can know which process was on its data directory before: then it waits for none of that one's leases. */
  readonly knowsPredecessor: boolean;
  endedAt: number;
  ending: "SIGKILL" | "SIGTERM" | null;
  exitCode: number | null;
}

/** The process that ran at this time. */
export function generationAt(generations: readonly Generation[], at: number): Generation | undefined {
  return generations.find(({ startedAt, endedAt }) => startedAt <= at && at <= endedAt);
}

export interface ServiceOptions {
  readonly store: StoreName;
  readonly smtpPort: number;
  /** On top of the usual settings. */
  readonly env?: Environment;
  /** Where the program is, when it is not the repository. */
  readonly root?: string;
}

/** One service on one log, started again and again. Everything that it leaves behind is removed at the end. */
export class ServiceUnderTest {
  readonly generations: Generation[] = [];
  private process: TestProcess | null = null;
  /** Of a process that has not ended. */
  private pid: number | null = null;

  private constructor(
    private readonly options: ServiceOptions,
    private readonly server: OwnServer | null,
    private readonly dataDir: string,
    /** The service's settings; opening its log takes the same. */
    readonly env: Environment,
  ) {}

  static async create(options: ServiceOptions): Promise<ServiceUnderTest> {
    const server = await SERVERS[options.store]();
    const dataDir = await mkdtemp(join(tmpdir(), "postledger-crash-"));
    const env: Record<string, string> = {
      DATA_DIR: dataDir,
      SMTP_URL: `smtp://127.0.0.1:${options.smtpPort}`,
      SMTP_CONNECTIONS_MAX: String(SMTP_CONNECTIONS_MAX),
      DELIVERY_LEASE_MS: String(LEASE_MS),
      DELIVERY_RETRY_BASE_MS: "50",
      DELIVERY_RELAY_RETRY_MS: "50",
      DRAIN_TIMEOUT_MS: String(DRAIN_MS_MAX),
      BOOTSTRAP: "on",
      LOG_LEVEL: "info",
      ...options.env,
    };
    if (server) {
      env.STORE_URL = server.url;
      env.MASTER_KEY = crypto.getRandomValues(new Uint8Array(32)).toBase64();
    }
    const service = new ServiceUnderTest(options, server, dataDir, env);
    process.once("exit", () => service.pid !== null && process.kill(service.pid, "SIGKILL"));
    return service;
  }

  get running(): TestProcess {
    if (!this.process) throw new Error("the service is not running");
    return this.process;
  }

  get generation(): Generation {
    const last = this.generations.at(-1);
    if (!last) throw new Error("the service was never started");
    return last;
  }

  /** `env` goes on top of the usual settings for this start only. */
  async start(env: Environment = {}, wrapper: readonly string[] = []): Promise<TestProcess> {
    this.begin();
    this.process = await this.launch({ env, wrapper });
    return this.process;
  }

  /** Starts it and ends it with SIGKILL after so long, whether it listens by then or not. */
  async killStart(afterMs: number): Promise<void> {
    this.begin();
    let timer: Timer | undefined;
    const onSpawn = (pid: number) => {
      timer = setTimeout(() => process.kill(pid, "SIGKILL"), afterMs);
    };
    this.process = await this.launch({ onSpawn }).catch(() => null);
    clearTimeout(timer);
    await this.end("SIGKILL");
  }

  /** Sends the signal at once and waits for the end. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<Generation> {
    const { process, generation } = this;
    const exitCode = await process?.kill(signal);
    // The next start must not fall into the same millisecond, because claims are told apart by time.
    await Bun.sleep(1);
    this.pid = null;
    Object.assign(generation, { ending: signal, endedAt: Date.now(), exitCode: exitCode ?? null });
    this.process = null;
    await Bun.sleep(1);
    return generation;
  }

  /** Every other process knows nothing of the one before, as if that had run on another machine: it waits for leases. */
  private begin(): void {
    const number = this.generations.length + 1;
    const knowsPredecessor = number % 2 === 1;
    if (!knowsPredecessor) rmSync(join(this.dataDir, "service.id"), { force: true });
    this.generations.push({
      number,
      startedAt: Date.now(),
      knowsPredecessor,
      endedAt: Number.POSITIVE_INFINITY,
      ending: null,
      exitCode: null,
    });
  }

  private launch({ env = {}, onSpawn, ...how }: Pick<ProcessOptions, "env" | "wrapper" | "onSpawn">) {
    const { root } = this.options;
    return startTestProcess({
      ...how,
      onSpawn: (pid) => {
        this.pid = pid;
        onSpawn?.(pid);
      },
      dataDir: this.dataDir,
      env: { ...this.env, ...env },
      ...(root === undefined ? {} : { program: sourceCommandLine(root) }),
    });
  }

  /** Ends the running process and removes its files. */
  async remove(): Promise<void> {
    if (this.process) await this.end("SIGKILL");
    await this.server?.process.kill();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}
