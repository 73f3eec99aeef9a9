import { rm } from "node:fs/promises";
import { openStore } from "../../../src/service/adapters/openStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { until } from "../../support/until.ts";
import { EndpointChurn } from "./endpointChurn.ts";
import { Load } from "./load.ts";
import { plantWebhookFault, type WebhookPlantName } from "./plants.ts";
import { type RawSink, type SinkStage, startRawSink, type Transaction } from "./rawSink.ts";
import { ServiceUnderTest, type StoreName } from "./serviceUnderTest.ts";
import { repeatRequests, waitUntilTerminal } from "./settle.ts";
import { auditWebhooks, type WebhookAudit } from "./webhookAudit.ts";
import { WebhookLog } from "./webhookLog.ts";
import { startWebhookReceivers, type WebhookReceivers } from "./webhookReceivers.ts";

export interface WebhookCrashOptions {
  readonly store: StoreName;
  /** At random times under load; one in so many of a service that is only just starting. */
  readonly kills: number;
  /** How long after the last start a delivery may take to end. */
  readonly endMsMax: number;
  readonly plant?: WebhookPlantName;
  /** How many of the kills are to fall into a call. */
  readonly heldShare?: number;
  /** A lease lasts twice as long. */
  readonly callTimeoutMs?: number;
  readonly onProgress?: (done: number, note: string) => void;
}

export interface WebhookCrashReport extends WebhookAudit {
  readonly store: StoreName;
  readonly kills: number;
  /** Kills while receivers had calls that were not yet answered. */
  readonly killsUnderCalls: number;
  /** Confirmed changes of endpoints, by their name. */
  readonly changes: Readonly<Record<string, number>>;
}

/** Short, so that a hanging receiver does not delay the run. */
const CALL_TIMEOUT_MS = 500;
const SCHEDULE_MS = [0, 150, 300, 600];
const POSTERS = 2;
/** Messages that may be accepted before each kill: each is several events, each of them several calls. */
const MESSAGES_PER_KILL = 8;
const LOAD_MS_MAX = 1_500;
/** So many kills are to fall into a call: into any moment of one that its receiver holds. */
const HELD_SHARE = 0.7;
const HOLD_MS_MAX = 5_000;
const HOLD_MS_MORE_MAX = 600;
/** One kill in so many is followed by another one that falls into the start. */
const START_KILL_EVERY = 9;
const START_MS_MAX = 900;
const POLL_MS = 100;
/** So many looks in a row find nothing open: an outcome that is recorded late may owe one more delivery. */
const QUIET_CHECKS = 10;
/** Of so many recipients one is unknown, and one is deferred once. */
const RECIPIENT_KINDS = 6;

/** Runs the whole of it; a fault shows in `problems`. Throws when it cannot even be run. */
export async function runWebhookCrash(options: WebhookCrashOptions): Promise<WebhookCrashReport> {
  const root = options.plant === undefined ? undefined : await plantWebhookFault(options.plant);
  const [sink, receivers] = await Promise.all([startRawSink(), startWebhookReceivers()]);
  sink.onStage = pickyRelay();
  const service = await ServiceUnderTest.create({
    store: options.store,
    smtpPort: sink.port,
    env: {
      ...receivers.settings,
      WEBHOOK_CALL_TIMEOUT_MS: String(options.callTimeoutMs ?? CALL_TIMEOUT_MS),
      WEBHOOK_SCHEDULE_MS: SCHEDULE_MS.join(),
    },
    ...(root ? { root } : {}),
  });
  try {
    return await new WebhookCrashRun(options, service, receivers, sink).run();
  } finally {
    await service.remove();
    await Promise.all([sink.close(), receivers.stop()]);
    if (root) await rm(root, { recursive: true, force: true });
  }
}

/** Takes most messages; some recipients it has never heard of, and some it takes only at the second time. */
function pickyRelay(): (stage: SinkStage, transaction: Transaction) => string | undefined {
  const deferred = new Set<string>();
  return (stage, { to }) => {
    if (stage !== "rcpt") return undefined;
    const kind = Number(/-(\d+)@/.exec(to)?.[1]) % RECIPIENT_KINDS;
    if (kind === 0) return "550 5.1.1 unknown";
    if (kind !== 1 || deferred.has(to)) return undefined;
    deferred.add(to);
    return "451 4.7.1 come again";
  };
}

class WebhookCrashRun {
  private readonly problems: string[] = [];
  private readonly log = new WebhookLog();
  private readonly churn: EndpointChurn;
  private readonly load: Load;
  private messagesMax = 0;
  private kills = 0;
  private killsUnderCalls = 0;

  constructor(
    private readonly options: WebhookCrashOptions,
    private readonly service: ServiceUnderTest,
    private readonly receivers: WebhookReceivers,
    private readonly sink: RawSink,
  ) {
    this.churn = new EndpointChurn(receivers);
    this.load = new Load({ posters: POSTERS, backlog: (accepted) => accepted - this.messagesMax });
    this.load.backlogMax = -1;
  }

  async run(): Promise<WebhookCrashReport> {
    await this.start();
    await this.churn.begin();
    while (this.kills < this.options.kills) {
      this.options.onProgress?.(this.kills / this.options.kills, "kill");
      await this.killUnderLoad();
      const isLast = this.kills >= this.options.kills;
      if (!isLast && this.kills % START_KILL_EVERY === 0) await this.killStart();
      // From the last start on nothing blocks a delivery, and no breaker holds it back.
      this.receivers.all = this.kills >= this.options.kills ? "well" : null;
      await this.start();
    }
    return this.finish();
  }

  /** Starts the service and asks again for everything that got no answer. */
  private async start(): Promise<void> {
    this.sink.generation = this.service.generations.length + 1;
    const process = await this.service.start();
    this.load.setTarget(process);
    await repeatRequests(this.load, this.load.unanswered());
    await this.churn.setTarget(process);
  }

  private async killUnderLoad(): Promise<void> {
    this.messagesMax += MESSAGES_PER_KILL;
    this.load.start();
    this.churn.start();
    await Bun.sleep(Math.random() * LOAD_MS_MAX);
    // Left to luck, most kills would fall between calls that take a millisecond.
    if (Math.random() < (this.options.heldShare ?? HELD_SHARE)) await this.holdCall();
    if (this.receivers.underWay() > 0) this.killsUnderCalls += 1;
    await Promise.all([this.service.end("SIGKILL"), this.load.stop(), this.churn.stop()]);
    this.kills += 1;
  }

  /** Stops all answers, and waits for a call. */
  private async holdCall(): Promise<void> {
    this.receivers.all = "hangs";
    const isHeld = until(() => this.receivers.underWay() > 0, "a call", HOLD_MS_MAX);
    // The kill comes even when nothing is called any more.
    await isHeld.catch(() => {});
    await Bun.sleep(Math.random() * HOLD_MS_MORE_MAX);
  }

  private async killStart(): Promise<void> {
    await this.service.killStart(Math.random() * START_MS_MAX);
    this.kills += 1;
  }

  /** Every delivery gets its time to end; then everything is compared. */
  private async finish(): Promise<WebhookCrashReport> {
    const { options, service, load, churn } = this;
    const late = await waitUntilTerminal(service.running, load.posts, options.endMsMax);
    await this.waitUntilEnded();
    const { exitCode } = await service.end("SIGTERM");
    if (exitCode !== 0) this.problems.push(`SIGTERM ended the service with exit status ${exitCode}`);
    await this.readLog(async () => true);
    const { calls } = this.receivers;
    const { generations } = service;
    const found = auditWebhooks({ log: this.log, calls, generations, attemptsMax: SCHEDULE_MS.length });
    return {
      ...found,
      store: options.store,
      kills: this.kills,
      killsUnderCalls: this.killsUnderCalls,
      changes: Object.fromEntries(churn.done),
      problems: [...this.problems, ...load.problems, ...churn.problems, ...late, ...found.problems],
    };
  }

  /** Waits until nothing that is owed is open, or for as long as that may take. */
  private async waitUntilEnded(): Promise<void> {
    const deadline = Date.now() + this.options.endMsMax;
    let quietChecks = 0;
    await this.readLog(async () => {
      const open = this.log.pending().length;
      quietChecks = open === 0 ? quietChecks + 1 : 0;
      this.options.onProgress?.(1, `${open} deliveries to end`);
      await Bun.sleep(POLL_MS);
      return quietChecks >= QUIET_CHECKS || Date.now() > deadline;
    });
  }

  /** Reads new events of the log, beside the service, until there are enough. */
  private async readLog(isEnough: () => Promise<boolean>): Promise<void> {
    const store = await openStore(readConfig(this.service.env));
    try {
      do await this.log.read(store);
      while (!(await isEnough()));
    } finally {
      await store.close();
    }
  }
}
