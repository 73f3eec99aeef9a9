import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { dayWithRoom } from "../../support/dayWithRoom.ts";
import { direct, txt } from "../../support/files/uploadFiles.ts";
import { setLimits } from "../../support/limits.ts";
import type { Answer } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** The cores are shared, and some of this waits for a count that is a second old. */
setDefaultTimeout(120_000);

/** More than sending two messages and counting them takes on a busy machine. */
const DAY_ROOM_MS = 30_000;
const TEXT_CHARACTERS = 10_000;
/** The most that a message of these tests has beside its text. */
const REST_BYTES_MAX = 300;
/** Two messages reach it, and the second is still taken. */
const QUOTA_BYTES = 15_000;

describe.each(await testStores())("the content quota on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const begin = async (contentBytes = QUOTA_BYTES) => {
    tenant = await service.tenant();
    await setLimits(service.log, tenant.workspaceId, { contentBytes });
  };
  const large = (parts: Record<string, unknown> = {}) =>
    message({ text: "x".repeat(TEXT_CHARACTERS), ...parts });
  const send = (body = large()) => tenant.send(newKey(), body);
  const workspace = async () => (await tenant.call("GET", "/api/v1/workspace")).json;
  const used = async (): Promise<number> => (await workspace()).usage.content_bytes;
  const draft = (id: string) =>
    tenant.call("POST", `/api/v1/templates/${id}/versions`, {
      body: { subject: "Hello", text: "y".repeat(TEXT_CHARACTERS) },
    });
  const createTemplate = async () =>
    String((await tenant.call("POST", "/api/v1/templates", { body: { name: "Order" } })).json.id);
  const expectRefused = ({ status, json }: Answer) => {
    expect({ status, code: json?.code, retryable: json?.retryable }).toEqual({
      status: 413,
      code: "STORAGE_LIMIT_EXCEEDED",
      retryable: true,
    });
    expect(json.detail).toContain("content_bytes");
  };
  const fill = async () => {
    const answers = [await send(), await send()];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expectRefused(await send());
    return answers;
  };

  test("is shown with what is used of it, messages and templates alike", async () => {
    await begin();
    expect(await workspace()).toMatchObject({
      limits: { content_bytes: QUOTA_BYTES },
      usage: { content_bytes: 0 },
    });
    await send();
    const messageBytes = await used();
    expect(messageBytes).toBeWithin(TEXT_CHARACTERS, TEXT_CHARACTERS + REST_BYTES_MAX);
    await draft(await createTemplate());
    expect((await used()) - messageBytes).toBeWithin(TEXT_CHARACTERS, TEXT_CHARACTERS + REST_BYTES_MAX);
  });

  test("refuses messages once it is used up, however small, and leaves no trace of their keys", async () => {
    await dayWithRoom(DAY_ROOM_MS);
    await begin();
    await fill();
    const key = newKey();
    expectRefused(await tenant.send(key, message()));
    expectRefused(await tenant.send(key, message({ attachments: [direct(txt(1))] })));
    expect((await workspace()).usage).toMatchObject({ messages_today: 2, storage_bytes: 0 });
    await setLimits(service.log, tenant.workspaceId, { contentBytes: 10 * QUOTA_BYTES });
    await until(async () => (await tenant.send(key, message())).status === 202, "the raised limit");
  });

  test("refuses drafts once it is used up", async () => {
    await begin();
    const id = await createTemplate();
    expect([(await draft(id)).status, (await draft(id)).status]).toEqual([201, 201]);
    expectRefused(await draft(id));
    expectRefused(await send());
  });

  test("is no reason to refuse the retry of a send that was accepted", async () => {
    await begin();
    const key = newKey();
    const first = await tenant.send(key, large());
    await send();
    expectRefused(await send());
    const repeat = await tenant.send(key, large());
    expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 202, text: first.text });
  });

  test("has room again for what is erased", async () => {
    await begin();
    const [first] = await fill();
    const before = await used();
    const path = `/api/v1/emails/${first?.json.id}/content`;
    for (const _ of [1, 2]) expect((await tenant.call("DELETE", path)).status).toBe(200);
    expect(before - (await used())).toBeWithin(TEXT_CHARACTERS, TEXT_CHARACTERS + REST_BYTES_MAX);
    await until(async () => (await send()).status === 202, "room for another message");
  });

  test("is the workspace's own", async () => {
    await begin();
    await fill();
    const full = tenant;
    await begin();
    expect((await send()).status).toBe(202);
    tenant = full;
    expectRefused(await send());
  });

  test("of test mail is of the same size, and apart from that of live mail", async () => {
    await begin();
    const live = tenant;
    tenant = await live.withKey({ isTest: true, scopes: TEST_SCOPES });
    const usage = async () => (await live.call("GET", "/api/v1/workspace")).json.usage;
    const [first] = await fill();
    expect(await usage()).toMatchObject({ content_bytes: 0 });
    const before = (await usage()).test_content_bytes;
    expect(before).toBeGreaterThan(QUOTA_BYTES);
    expect((await live.send(newKey(), large())).status).toBe(202);
    await service.restart();
    expectRefused(await send());
    expect((await usage()).test_content_bytes).toBe(before);
    await tenant.call("DELETE", `/api/v1/emails/${first?.json.id}/content`);
    expect(before - (await usage()).test_content_bytes).toBeWithin(
      TEXT_CHARACTERS,
      TEXT_CHARACTERS + REST_BYTES_MAX,
    );
    await until(async () => (await send()).status === 202, "room for another message");
  });

  test("counts what is in the content store too", async () => {
    await begin(500_000);
    const body = message({ html: "z".repeat(400_000), text: "x".repeat(190_000) });
    expect((await send(body)).status).toBe(202);
    expect(await used()).toBeWithin(590_000, 590_000 + REST_BYTES_MAX);
    expectRefused(await send());
  });

  test("is the same after a restart", async () => {
    await begin();
    const [first] = await fill();
    await draft(await createTemplate());
    await tenant.call("DELETE", `/api/v1/emails/${first?.json.id}/content`);
    const before = await used();
    await service.restart();
    expect(await used()).toBe(before);
    expect((await send()).status).toBe(202);
    expectRefused(await send());
  });
});
