import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { direct, txt } from "../../support/files/uploadFiles.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type TestService } from "../../support/tenants.ts";

describe("while the content store cannot be written to", () => {
  let directory: string;
  let service: TestService;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "postledger-test-"));
    const content = join(directory, "content");
    service = await startService(sqliteStore, { CONTENT_URL: `file:${content}` });
    await rename(content, `${content}-gone`);
    await writeFile(content, "a file in place of the directory");
  });
  afterAll(async () => {
    await service.remove();
    await rm(directory, { recursive: true });
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
