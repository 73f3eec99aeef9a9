import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createDependencies } from "../../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../../src/commands/dependencies.ts";
import { sendEmail } from "../../../src/commands/email/send/sendEmail.ts";
import type { SendOutcome } from "../../../src/commands/email/send/sendOutcome.ts";
import { sendRequest } from "../../../src/http/email/sendEmailRequest.ts";
import type { SendEmailBody } from "../../../src/http/email/sendEmailSchema.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { direct, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import { type Answer, callerOf } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";

setDefaultTimeout(60_000);

const ROUNDS = 15;
const RACERS = 12;
const FILE_BYTES = 700;
const QUOTA_BYTES = 1_000;

const times = <Result>(count: number, make: (index: number) => Result) =>
  Array.from({ length: count }, (_, index) => make(index));
const withFile = (bytes = FILE_BYTES) => message({ attachments: [direct(txt(bytes))] });

/** What a limit leaves room for, and a message that needs all of it. */
interface Limit {
  readonly name: string;
  readonly limits: Parameters<typeof setLimits>[2];
  readonly body: () => Record<string, unknown>;
  readonly refusal: string;
}

const LIMITS: readonly Limit[] = [
  {
    name: "one message left in the day",
    limits: { messagesPerDay: 1 },
    body: message,
    refusal: "DAILY_LIMIT_REACHED",
  },
  {
    name: "storage left for one message's file",
    limits: { storageBytes: QUOTA_BYTES },
    body: withFile,
    refusal: "STORAGE_LIMIT_EXCEEDED",
  },
  {
    name: "one message and storage for its file left",
    limits: { messagesPerDay: 1, storageBytes: QUOTA_BYTES },
    body: withFile,
    refusal: "STORAGE_LIMIT_EXCEEDED",
  },
];

describe.each(await testStores())("one key that races on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const limited = async (limits: Limit["limits"]): Promise<Tenant> => {
    const tenant = await service.tenant();
    await setLimits(service.log, tenant.workspaceId, limits);
    return tenant;
  };
  const expectOneMessage = (answers: readonly Answer[]) => {
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers }) => !headers.has("idempotent-replayed"))).toHaveLength(1);
  };
  const used = async (limits: Dependencies, { workspaceId }: Tenant) => ({
    messages: await limits.quota.used(workspaceId, Date.now()),
    bytes: await limits.storage.used(workspaceId),
  });

  test("is one message where the last of the day is in one instance's hand", async () => {
    const tenant = await limited({ messagesPerDay: 40 });
    const [one, two] = [createDependencies(service.log), createDependencies(service.log)];
    const sendNew = (instance: Dependencies) => sendAt(instance, tenant, newKey(), message());
    // It has a block of two, of which one is left.
    expect((await sendNew(one)).kind).toBe("accepted");
    for (let left = 38; left > 0; left -= 1) expect((await sendNew(two)).kind).toBe("accepted");
    expect(await sendNew(two)).toMatchObject({ code: "DAILY_LIMIT_REACHED" });
    const key = newKey();
    const outcomes = await Promise.all(
      times(RACERS, (index) => sendAt(index % 2 === 0 ? two : one, tenant, key, message())),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => "accepted"));
    expect(await sendNew(one)).toMatchObject({ code: "DAILY_LIMIT_REACHED" });
  });

  describe.each(LIMITS)("with $name", ({ limits, body, refusal }) => {
    const used1 = { messages: 1, bytes: body === message ? 0 : FILE_BYTES };

    test.each([RACERS, 100])("is one message with one answer for %d requests at once", async (count) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const tenant = await limited(limits);
        const key = newKey();
        expectOneMessage(await Promise.all(times(count, () => tenant.send(key, body()))));
        // No block is in hand so near the limit, so the log alone says what is used.
        if (limits.messagesPerDay === 1) {
          expect(await used(createDependencies(service.log), tenant)).toEqual(used1);
        }
        expect((await tenant.send(newKey(), body())).json.code).toBe(refusal);
        if (count > RACERS && round >= 3) break;
      }
    });

    test("is a conflict only for requests with other content", async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const tenant = await limited(limits);
        const key = newKey();
        const answers = await Promise.all(
          times(RACERS, (index) => tenant.send(key, { ...body(), subject: `Content ${index % 3}` })),
        );
        const accepted = answers.filter(({ status }) => status === 202);
        expectOneMessage(accepted);
        expect(accepted).toHaveLength(RACERS / 3);
        const others = answers.filter(({ status }) => status !== 202);
        expect(new Set(others.map(({ json }) => json.code))).toEqual(new Set(["IDEMPOTENCY_CONFLICT"]));
      }
    });

    test("is refused as one where nothing is left, and the key is as good as new", async () => {
      const tenant = await limited(limits);
      expect((await tenant.send(newKey(), body())).status).toBe(202);
      const key = newKey();
      const answers = await Promise.all(times(RACERS, () => tenant.send(key, body())));
      expect(new Set(answers.map(({ json }) => json.code))).toEqual(new Set([refusal]));
      expect((await tenant.call("GET", `/api/v1/emails?idempotency_key=${key}`)).json.data).toEqual([]);
    });

    test("is one message for requests at several holders of the log", async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const tenant = await limited(limits);
        const instances = times(3, () => createDependencies(service.log));
        const key = newKey();
        const outcomes = await Promise.all(
          times(RACERS, (index) => sendAt(instances[index % 3] as Dependencies, tenant, key, body())),
        );
        expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => "accepted"));
        const receipts = outcomes.map((outcome) => "receipt" in outcome && JSON.stringify(outcome.receipt));
        expect(new Set(receipts).size).toBe(1);
        if (limits.messagesPerDay === 1) {
          expect(await used(createDependencies(service.log), tenant)).toEqual(used1);
        }
        for (const instance of instances) {
          expect(await sendAt(instance, tenant, newKey(), body())).toMatchObject({ code: refusal });
        }
      }
    });

    test("ends the same for requests with other content at several holders of the log", async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const tenant = await limited(limits);
        const instances = times(3, () => createDependencies(service.log));
        const key = newKey();
        const outcomes = await Promise.all(
          times(RACERS, (index) =>
            sendAt(instances[index % 3] as Dependencies, tenant, key, {
              ...body(),
              subject: `At ${index % 3}`,
            }),
          ),
        );
        const kinds = outcomes.map(({ kind }) => kind);
        expect(kinds.filter((kind) => kind === "accepted")).toHaveLength(RACERS / 3);
        expect(kinds.filter((kind) => kind === "conflict")).toHaveLength((2 * RACERS) / 3);
      }
    });

    test.skipIf(!store.isShared)("is one message with one answer at two services", async () => {
      const second = await startService(store);
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          const tenant = await limited(limits);
          const other = callerOf(second.url, tenant.apiKey);
          const key = newKey();
          expectOneMessage(
            await Promise.all(times(RACERS, (index) => (index % 2 === 0 ? tenant : other).send(key, body()))),
          );
        }
      } finally {
        await second.remove();
      }
    });
  });
});

/** A send at one holder of the log, as its HTTP side would ask for it. */
function sendAt(
  deps: Dependencies,
  { workspaceId }: Tenant,
  idempotencyKey: string,
  body: Record<string, unknown>,
): Promise<SendOutcome> {
  const context = { ...systemCommandContext("test"), workspaceId };
  const request = sendRequest(body as SendEmailBody);
  return sendEmail(deps, { ...request, workspaceId, idempotencyKey, context });
}
