import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/adapters/system/systemClock.ts";
import { authenticate } from "../../src/commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import { prepareContent } from "../../src/commands/email/content/storedContent.ts";
import { sendEmail } from "../../src/commands/email/send/sendEmail.ts";
import { toNewEvents } from "../../src/commands/transact.ts";
import { emailId, requestFingerprint } from "../../src/domain/email/idempotency.ts";
import { BodyAdmissionControl } from "../../src/http/body/bodyAdmission.ts";
import { BODY_BYTES_MAX } from "../../src/http/body/bodyLimits.ts";
import { readJsonBody } from "../../src/http/body/jsonBody.ts";
import { checkBy } from "../../src/http/body/validation.ts";
import { receiptJson } from "../../src/http/email/emailResource.ts";
import { sendRequest } from "../../src/http/email/sendEmailRequest.ts";
import { SendEmailBody } from "../../src/http/email/sendEmailSchema.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { EventStore, Position } from "../../src/ports/eventStore.ts";
import { bootstrap } from "../../src/service/bootstrapWorkspace.ts";
import { callerOf } from "../support/service.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { testDependencies } from "../support/testDependencies.ts";
import { rawAppends, sampleEvents } from "./append.ts";
import { startBareHttp } from "./bareHttp.ts";
import { type Bench, CONNECTIONS } from "./benches.ts";
import { onFresh, onService } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { httpLoad, seededRandom } from "./httpLoad.ts";
import { mailBody } from "./mail.ts";
import { cpuUsByThread, cpuUsOf } from "./processTime.ts";
import { add, median } from "./report.ts";

const WARM_REQUESTS = 4_000;
const REQUESTS = 10_000;
/** Each step is done so often in a round; the least round tells what it costs, the others what came between. */
const CALLS = 1_000;
const ROUNDS = 30;
const HTTP_ROUNDS = 3;
const APPEND_ROUNDS = 5;
const BODIES = 64;

type Step = (call: number) => unknown;

/** Processor time of one call, in µs, on this thread and those that help it. */
async function measureUs(step: Step, prepare: () => void = () => {}): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    prepare();
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call += 1) await step(call);
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / CALLS);
  }
  return Math.min(...rounds);
}

/** A log in memory that takes messages and forgets them. */
function discardingStore(): EventStore {
  const store = memoryEventStore();
  const appended = { outcome: "appended", revision: 1, position: "0000000000000001" as Position } as const;
  return {
    ...store,
    append: (stream, ...rest) =>
      stream.startsWith("email-") ? Promise.resolve(appended) : store.append(stream, ...rest),
  };
}

interface Setup {
  readonly deps: Dependencies;
  readonly apiKey: string;
  readonly workspaceId: string;
}

async function makeSetup(): Promise<Setup> {
  const deps = testDependencies({ store: discardingStore(), clock: systemClock });
  const directory = await mkdtemp(join(tmpdir(), "postledger-bench-"));
  await bootstrap(deps, newId(), directory);
  const apiKey = (await readFile(join(directory, "bootstrap.key"), "utf8")).trim();
  await rm(directory, { recursive: true });
  const principal = await authenticate(deps, `Bearer ${apiKey}`);
  if ("fault" in principal) throw new Error(`the key is ${principal.fault}`);
  return { deps, apiKey, workspaceId: principal.workspaceId };
}

/** The steps of the program itself, one by one, with bodies as the load generator sends them. */
async function measureProgram(): Promise<Readonly<Record<string, number>>> {
  const { deps, apiKey, workspaceId } = await makeSetup();
  const random = seededRandom(1);
  const bodies = Array.from({ length: BODIES }, () => mailBody(random));
  const bodyOf = (call: number) => bodies[call % BODIES] as SendEmailBody;
  const texts = bodies.map((body) => JSON.stringify(body));
  const admission = new BodyAdmissionControl(BODY_BYTES_MAX * 4);
  const context = { at: Date.now(), correlationId: "bench", actor: "bench", workspaceId };
  const folder = { workspaceId, ownerId: newId(), folderId: newId() };
  const requests = bodies.map((body) => sendRequest(body as SendEmailBody));
  const requestOf = (call: number) => requests[call % BODIES] as (typeof requests)[number];
  const check = checkBy(SendEmailBody);
  let incoming: Request[] = [];
  const ready = () => {
    incoming = Array.from({ length: CALLS }, (_, call) => {
      const body = texts[call % BODIES] as string;
      const headers = { "content-length": String(Buffer.byteLength(body)) };
      return new Request("http://localhost/", { method: "POST", body, headers });
    });
  };
  const emptyLoopUs = await measureUs(() => {});
  let sent = 0;
  const parse = await measureUs(async (call) => {
    const body = admission.open(workspaceId);
    await readJsonBody(incoming[call] as Request, body, BODY_BYTES_MAX);
    body.release();
  }, ready);
  const authorize = await measureUs(() => authenticate(deps, `Bearer ${apiKey}`));
  const validate = await measureUs((call) => {
    check(bodyOf(call));
    sendRequest(bodyOf(call));
  });
  const fingerprint = await measureUs((call) => {
    emailId({ workspaceId, isTest: false }, `bench-${call}`);
    requestFingerprint(deps.keys, workspaceId, requestOf(call).comparable);
  });
  const encode = await measureUs(async (call) => {
    const { event } = await prepareContent(deps.content, folder, requestOf(call).content);
    toNewEvents(
      [
        { type: "EmailContentStored", data: event },
        { type: "EmailQueued", data: folder },
      ],
      context,
    );
  });
  const command = await measureUs((call) => {
    const idempotencyKey = `bench-${sent++}`;
    return sendEmail(deps, { ...requestOf(call), workspaceId, idempotencyKey, context });
  });
  const receipt = { id: newId(), status: "queued", acceptedAt: new Date(0).toISOString() } as const;
  const headers = { "x-request-id": "0", "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const answer = await measureUs(() => {
    Response.json(receiptJson(receipt), { status: 202, headers: { ...headers, location: receipt.id } });
  });
  admission.stop();
  await deps.quota.stop();
  return {
    parse: parse - emptyLoopUs,
    authorize: authorize - emptyLoopUs,
    validate: validate - emptyLoopUs,
    fingerprint: fingerprint - emptyLoopUs,
    decide: command - fingerprint - encode + emptyLoopUs,
    encode: encode - emptyLoopUs,
    answer: answer - emptyLoopUs,
  };
}

/** HTTP and nothing else. */
async function httpUs(): Promise<number> {
  const { url, pid, stop } = await startBareHttp();
  try {
    const load = { url, apiKey: "none", connections: CONNECTIONS, keyPrefix: "bare-http" };
    await httpLoad({ ...load, requests: WARM_REQUESTS });
    const rounds: number[] = [];
    for (let round = 0; round < HTTP_ROUNDS; round += 1) {
      const before = cpuUsOf(pid);
      await httpLoad({ ...load, requests: REQUESTS });
      rounds.push((cpuUsOf(pid) - before) / REQUESTS);
    }
    return Math.min(...rounds);
  } finally {
    await stop();
  }
}

/** The log alone: two events an append, without making them. */
async function appendUs(store: BenchStore): Promise<number> {
  const random = seededRandom(2);
  const generatingUs = await measureUs(() => sampleEvents(random));
  let totalUs = 0;
  await onFresh(store, async (fresh) => {
    const log = await fresh.open();
    const rounds: number[] = [];
    for (let round = 0; round < APPEND_ROUNDS; round += 1) {
      const before = process.cpuUsage();
      // As many at once as there are connections: that many share a transaction.
      await rawAppends(log, CONNECTIONS, REQUESTS);
      const { user, system } = process.cpuUsage(before);
      rounds.push((user + system) / REQUESTS);
    }
    totalUs = Math.min(...rounds);
    await log.close();
  });
  return totalUs - generatingUs;
}

interface Threads {
  readonly requests: number;
  readonly readModels: number;
  readonly others: number;
}

/** The whole service under load, by its threads: that of the requests, that of the read models, and the engine's own. */
async function threadsOf(store: BenchStore, turns: number): Promise<Threads> {
  const samples: Threads[] = [];
  await onService(store, { DELIVERY: "off" }, async ({ url, apiKey, pid }) => {
    const load = { url, apiKey, connections: CONNECTIONS };
    const { call } = callerOf(url, apiKey);
    await httpLoad({ ...load, requests: WARM_REQUESTS, keyPrefix: "warm-up" });
    for (let turn = 0; turn < turns; turn += 1) {
      const before = cpuUsByThread(pid);
      await httpLoad({ ...load, requests: REQUESTS, keyPrefix: `turn-${turn}` });
      await call("GET", "/api/v1/emails?limit=1");
      const spent = [...cpuUsByThread(pid)].map(([thread, { name, cpuUs }]) => {
        return { thread, name, cpuUs: (cpuUs - (before.get(thread)?.cpuUs ?? 0)) / REQUESTS };
      });
      const sum = (kept: (one: (typeof spent)[number]) => boolean) =>
        spent.filter(kept).reduce((total, { cpuUs }) => total + cpuUs, 0);
      const requests = sum(({ thread }) => thread === pid);
      const readModels = sum(({ name }) => name.startsWith("Worker"));
      samples.push({ requests, readModels, others: sum(() => true) - requests - readModels });
    }
  });
  const of = (name: keyof Threads) => median(samples.map((one) => one[name]));
  return { requests: of("requests"), readModels: of("readModels"), others: of("others") };
}

/**
 * What each step of a send costs, in µs of processor time: each by itself, warm, the least of many rounds; then the whole
 * service under load. What the steps leave of the thread of the requests is the event loop, promises, memory, and
 * caches of the processor that are cold again.
 */
export const steps: Bench = async (store, report, { turns }) => {
  if (store.name !== "sqlite") return;
  const tell = (name: string, value: number) =>
    add(report, { name: `step: ${name}`, store: store.name, unit: "µs", value });
  const program = await measureProgram();
  const parts = { HTTP: await httpUs(), ...program, append: await appendUs(store) };
  for (const [name, value] of Object.entries(parts)) tell(name, value);
  const { requests, readModels, others } = await threadsOf(store, turns);
  const known = Object.values(parts).reduce((sum, value) => sum + value, 0);
  tell("the rest of the requests' thread", requests - known);
  tell("project (the read models' thread)", readModels);
  tell("the engine's threads (compiler, memory)", others);
  tell("all", requests + readModels + others);
};
