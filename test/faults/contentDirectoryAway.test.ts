import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { askRunningService } from "../../src/cli/service/askRunningService.ts";
import type { Check } from "../../src/service/status/checks/check.ts";
import { startTestApp } from "../support/service.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 180_000;
const ASK_MS_MAX = 20_000;
const DUE_IN_MS = 3_000;

const MAIL = { from: "hello@example.com", to: "ana@example.com", subject: "Hello", text: "Hello" };
const WITH_FILE = {
  ...MAIL,
  attachments: [{ filename: "note.txt", content_type: "text/plain", content: "VGhhbmsgeW91Lgo=" }],
};

test(
  "while the content directory is away, mail with files waits and none is accepted, and it leaves once that is back",
  async () => {
    const service = await startTestApp({ env: { DELIVERY_RELAY_RETRY_MS: "1000" } });
    const content = join(service.dataDir, "content");
    const statusOf = async (id: string) =>
      (await service.call("GET", `/api/v1/emails/${id}`)).json.status as string;
    const contentReadiness = async () =>
      (await service.call("GET", "/health/ready")).json.checks.content.ok as boolean;
    const contentCheck = async () => {
      const asked = await askRunningService(service.dataDir, "/status", ASK_MS_MAX);
      const checks = (asked as { readonly body: readonly Check[] }).body;
      return checks.find(({ name }) => name.startsWith("content"));
    };
    try {
      const scheduled = { ...WITH_FILE, scheduled_at: new Date(Date.now() + DUE_IN_MS).toISOString() };
      const { json } = await service.send("waits-0001", scheduled);
      await rename(content, `${content}.away`);

      await until(async () => (await statusOf(json.id)) === "deferred", "the deferral");
      await until(async () => !(await contentReadiness()), "readiness to say so");
      expect(await contentCheck()).toMatchObject({
        status: "failed",
        action: expect.stringContaining("mounted"),
      });
      expect((await service.send("while-away-1", WITH_FILE)).status).toBe(503);
      expect((await service.send("while-away-2", MAIL)).status).toBe(202);
      expect(existsSync(content)).toBe(false);

      // As where a disk is not mounted.
      await mkdir(content);
      expect((await service.send("while-away-1", WITH_FILE)).status).toBe(503);
      expect(await contentCheck()).toMatchObject({ status: "failed" });
      expect(await readdir(content)).toEqual([]);
      await rmdir(content);

      await rename(`${content}.away`, content);
      await until(
        async () => (await statusOf(json.id)) === "sent",
        "the waiting message to leave",
        TEST_MS_MAX,
      );
      expect((await service.send("while-away-1", WITH_FILE)).status).toBe(202);
      expect(await contentReadiness()).toBe(true);
    } finally {
      await service.remove();
    }
  },
  TEST_MS_MAX,
);
