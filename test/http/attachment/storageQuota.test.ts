import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { expireEmailFiles } from "../../../src/commands/attachment/expireFiles.ts";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { emailStream } from "../../../src/domain/email/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { direct, formOf, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import type { Answer } from "../../support/service.ts";
import { sharedService } from "../../support/sharedService.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** The cores are shared, and some of this waits for a cache that is a second old. */
setDefaultTimeout(120_000);

const PATH = "/api/v1/attachments";
const QUOTA_BYTES = 1_000;

describe.each(await testStores())("the storage quota on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await sharedService(store);
  });
  afterAll(() => service.remove());

  /** Every test has a workspace of its own with room for 1,000 bytes. */
  const begin = async (further: Parameters<typeof setLimits>[2] = {}) => {
    tenant = await service.tenant();
    await setLimits(service.log, tenant.workspaceId, { storageBytes: QUOTA_BYTES, ...further });
  };
  const upload = (bytes: number) => tenant.call("POST", PATH, formOf(txt(bytes)));
  const uploadJson = (bytes: number) => tenant.call("POST", PATH, { body: direct(txt(bytes)) });
  const withFiles = (...sizes: readonly number[]) =>
    message({ attachments: sizes.map((bytes) => direct(txt(bytes))) });
  const send = (...sizes: readonly number[]) => tenant.send(newKey(), withFiles(...sizes));
  const used = () => service.log.storage.used(tenant.workspaceId);
  const statusOf = async (answer: Promise<Answer>) => (await answer).status;
  const expectRefused = (answer: Answer, retryable = true) =>
    expect({ status: answer.status, code: answer.json?.code, retryable: answer.json?.retryable }).toEqual({
      status: 413,
      code: "STORAGE_LIMIT_EXCEEDED",
      retryable,
    });
  /** Who has bytes in the content store. */
  const owners = async () => {
    const found: string[] = [];
    for await (const folder of service.log.content.folders()) {
      if (folder.workspaceId === tenant.workspaceId) found.push(folder.ownerId);
    }
    return found;
  };

  test("can be used up to its last byte, by uploads and by direct files", async () => {
    await begin();
    expect(await statusOf(upload(300))).toBe(201);
    expect(await statusOf(uploadJson(300))).toBe(201);
    expectRefused(await send(200, 201));
    expect(await statusOf(send(200, 200))).toBe(202);
    expect(await used()).toBe(QUOTA_BYTES);
    for (const answer of [await upload(1), await uploadJson(1), await send(1)]) expectRefused(answer);
  });

  test("takes one upload as large as itself, and none that is larger by a byte", async () => {
    await begin();
    for (const answer of [await upload(QUOTA_BYTES + 1), await uploadJson(QUOTA_BYTES + 1)]) {
      expectRefused(answer, false);
    }
    expect(await statusOf(upload(QUOTA_BYTES))).toBe(201);
  });

  test("is not used by messages without files, nor by those that name an upload", async () => {
    await begin();
    const { json } = await upload(QUOTA_BYTES);
    await until(
      async () => (await tenant.call("GET", `${PATH}/${json.id}`)).json.status === "ready",
      "the upload to be ready",
    );
    expect(await statusOf(tenant.send(newKey(), message()))).toBe(202);
    expect(await statusOf(tenant.send(newKey(), message({ attachments: [json.id, json.id] })))).toBe(202);
    expect(await used()).toBe(QUOTA_BYTES);
  });

  test("has the room of an upload again once that is deleted", async () => {
    await begin();
    const { json } = await upload(600);
    expect(await statusOf(send(400))).toBe(202);
    expectRefused(await upload(1));
    expect(await statusOf(tenant.call("DELETE", `${PATH}/${json.id}`))).toBe(204);
    expect(await used()).toBe(400);
    expectRefused(await upload(601));
    expect(await statusOf(upload(600))).toBe(201);
  });

  test("is no reason to refuse the retry of a send that was accepted", async () => {
    await begin();
    const key = newKey();
    const first = await tenant.send(key, withFiles(QUOTA_BYTES));
    expect(first.status).toBe(202);
    expectRefused(await send(QUOTA_BYTES));
    const repeat = await tenant.send(key, withFiles(QUOTA_BYTES));
    expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 202, text: first.text });
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    const changed = await tenant.send(key, withFiles(QUOTA_BYTES - 1));
    expect({ status: changed.status, code: changed.json.code }).toEqual({
      status: 409,
      code: "IDEMPOTENCY_CONFLICT",
    });
    expect(await used()).toBe(QUOTA_BYTES);
  });

  test("is left as it was by what is refused, which leaves no bytes and no trace of its key", async () => {
    await begin({ messagesPerDay: 0 });
    const key = newKey();
    expectRefused(await tenant.send(key, withFiles(600, 401)), false);
    expectRefused(await upload(QUOTA_BYTES + 1), false);
    // Room is made before the day's messages are counted, and given back when there is none left of those.
    const full = await tenant.send(key, withFiles(QUOTA_BYTES));
    expect({ status: full.status, code: full.json.code }).toEqual({
      status: 429,
      code: "DAILY_LIMIT_REACHED",
    });
    expect([await used(), await owners()]).toEqual([0, []]);
    await setLimits(service.log, tenant.workspaceId, { messagesPerDay: 1 });
    await until(
      async () => (await statusOf(tenant.send(key, withFiles(QUOTA_BYTES)))) === 202,
      "the raised limit",
    );
    expect(await used()).toBe(QUOTA_BYTES);
  });

  test("is shared exactly by those that come at once", async () => {
    await begin();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? upload(100) : send(100))),
    );
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(10);
    for (const answer of answers.filter(({ status }) => status >= 300)) expectRefused(answer);
    expect(await used()).toBe(QUOTA_BYTES);
  });

  describe("of test mail", () => {
    let testTenant: Tenant;
    const beginTest = async () => {
      await begin();
      testTenant = await tenant.withKey({ isTest: true, scopes: TEST_SCOPES });
    };
    const sendTest = (...sizes: readonly number[]) => testTenant.send(newKey(), withFiles(...sizes));
    const usage = async () => {
      const { storage_bytes, test_storage_bytes } = (await tenant.call("GET", "/api/v1/workspace")).json
        .usage;
      return { live: storage_bytes, test: test_storage_bytes };
    };
    /** Ends a message, and removes its files after their retention. */
    const retire = async (id: string) => {
      expect(await statusOf(testTenant.call("POST", `/api/v1/emails/${id}/cancel`))).toBe(200);
      const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
      const later = { ...context, at: Date.now() + 25 * HOUR_MS };
      for (let time = 0; time < 2; time += 1) await expireEmailFiles(service.log, id, later);
    };

    test("is of the same size, and apart from that of live mail", async () => {
      await beginTest();
      const key = newKey();
      expectRefused(await sendTest(600, 401), false);
      const first = await testTenant.send(key, withFiles(QUOTA_BYTES));
      expect(first.status).toBe(202);
      expectRefused(await sendTest(1));
      const repeat = await testTenant.send(key, withFiles(QUOTA_BYTES));
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 202, text: first.text });
      expect(await usage()).toEqual({ live: 0, test: QUOTA_BYTES });
      expect(await statusOf(send(QUOTA_BYTES))).toBe(202);
      expect(await usage()).toEqual({ live: QUOTA_BYTES, test: QUOTA_BYTES });
    });

    test("is shared exactly by those that come at once", async () => {
      await beginTest();
      const answers = await Promise.all(Array.from({ length: 30 }, () => sendTest(100)));
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
      expect(await usage()).toEqual({ live: 0, test: QUOTA_BYTES });
    });

    test("has room again for what is erased and for what has expired", async () => {
      await beginTest();
      const [erased, expired] = [await sendTest(400), await sendTest(600)];
      expect(await statusOf(testTenant.call("DELETE", `/api/v1/emails/${erased.json.id}/content`))).toBe(200);
      expect(await usage()).toEqual({ live: 0, test: 600 });
      await retire(expired.json.id);
      expect(await usage()).toEqual({ live: 0, test: 0 });
      expect(await statusOf(sendTest(QUOTA_BYTES))).toBe(202);
    });

    test("gets nothing back for a message of an earlier version, which did not count it", async () => {
      await beginTest();
      const { store } = service.log;
      const counted = await sendTest(600);
      const id = newId();
      const events = await store.read(emailStream(counted.json.id), 0, 2);
      const uncounted = events.map(({ type, data, metadata }) => ({
        id: newId(),
        type,
        data: "directBytes" in data ? { ...data, directBytes: 0 } : data,
        metadata,
      }));
      expect(uncounted.map(({ data }) => "directBytes" in data)).toEqual([false, true]);
      await store.append(emailStream(id), uncounted, "noStream");
      await retire(id);
      expect(await usage()).toEqual({ live: 0, test: 600 });
      await retire(counted.json.id);
      expect(await usage()).toEqual({ live: 0, test: 0 });
    });
  });
});
