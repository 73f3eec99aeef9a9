import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { direct, txt } from "../../support/files/uploadFiles.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";

describe("while the content store cannot be written to", () => {
  let directory: string;
  let service: TestService;
  beforeAll(async () => {
    directory = temporaryFolder();
    const content = join(directory, "content");
    service = await startService(sqliteStore, { CONTENT_URL: `file:${content}` });
    await rename(content, `${content}-gone`);
    await writeFile(content, "a file in place of the directory");
  });
  afterAll(async () => {
    await service.remove();
  });

  test("a send with a file says so, and may be repeated", async () => {
    const tenant = await service.tenant();
    const { status, json } = await tenant.send(newKey(), message({ attachments: [direct(txt(1))] }));
    expect({ status, code: json.code, retryable: json.retryable, detail: json.detail }).toEqual({
      status: 503,
      code: "INTERNAL_ERROR",
      retryable: true,
      detail: "the content store is not available; try again later",
    });
  });

  test("a send without files is accepted", async () => {
    const tenant = await service.tenant();
    expect((await tenant.send(newKey(), message())).status).toBe(202);
  });
});

const SENT = (tenant: Tenant) => tenant.send(newKey(), message({ attachments: [direct(txt(1))] }));
const UPLOADED = (tenant: Tenant) => tenant.call("POST", "/api/v1/attachments", { body: direct(txt(1)) });

test.each([
  ["sends with a file", SENT, 202],
  ["uploads", UPLOADED, 201],
])(
  "refused %s tell readiness that the content store is away, and one that works that it is back",
  async (_, request, status) => {
    const directory = temporaryFolder();
    const content = join(directory, "content");
    // No delivery could tell it.
    const service = await startService(sqliteStore, { CONTENT_URL: `file:${content}`, DELIVERY: "off" });
    try {
      const tenant = await service.tenant();
      const readiness = async () => (await tenant.call("GET", "/health/ready")).json;
      await rename(content, `${content}-gone`);
      for (let refused = 0; refused < 3; refused += 1) expect((await request(tenant)).status).toBe(503);
      expect(await readiness()).toMatchObject({
        status: "degraded",
        checks: { content: { ok: false, required: false, detail: expect.stringContaining("get 503") } },
      });
      await rename(`${content}-gone`, content);
      expect((await request(tenant)).status).toBe(status);
      expect((await readiness()).checks.content).toMatchObject({ ok: true });
    } finally {
      await service.remove();
    }
  },
);
