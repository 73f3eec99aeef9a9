import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startTestApp } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 30_000;

const folder = temporaryFolder();

/** Sends a message under these settings, and returns the path of its file in the outbox. */
async function written(dataDir: string, outbox: string, smtpUrl: string): Promise<string> {
  const service = await startTestApp({ dataDir, env: { SMTP_URL: smtpUrl } });
  const { json } = await service.send(newKey(), message({ from: "hello@example.com" }));
  const file = join(outbox, `${json.id}.eml`);
  await until(() => existsSync(file), "the mail in the outbox");
  await service.remove();
  return file;
}

test(
  "an erasure reaches the mail of every outbox that the service has had",
  async () => {
    const dataDir = join(folder, "data");
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    const files = [
      await written(dataDir, first, `outbox:${first}`),
      await written(dataDir, second, `outbox:${second}`),
      await written(dataDir, first, `outbox:${first}`),
      await written(dataDir, join(dataDir, "outbox"), "outbox:"),
    ];
    const service = await startTestApp({ dataDir, env: { SMTP_URL: "smtp://127.0.0.1:9" } });
    for (const file of files) {
      const id = file.replace(/.*\/|\.eml$/g, "");
      expect((await service.call("DELETE", `/api/v1/emails/${id}/content`)).status).toBe(200);
      expect({ file, isThere: existsSync(file) }).toEqual({ file, isThere: false });
    }
    await service.remove();
  },
  TEST_MS_MAX,
);
