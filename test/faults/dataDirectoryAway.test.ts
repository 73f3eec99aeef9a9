import { expect, test } from "bun:test";
import { rename } from "node:fs/promises";
import { startTestApp } from "../support/service.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;

const MAIL = { from: "hello@example.com", to: "ana@example.com", subject: "Hello", text: "Hello" };

test(
  "a missing data directory is reported, and mail is accepted and delivered once it is back",
  async () => {
    const service = await startTestApp({ env: { DISK_FREE_BYTES_MIN: "1" } });
    const { dataDir } = service;
    try {
      const ready = () => fetch(new URL("/health/ready", service.url));
      await rename(dataDir, `${dataDir}.away`);
      try {
        await until(async () => (await ready()).status === 503, "the service to be not ready");
        const refused = await service.send("while-away-01", MAIL);
        expect(refused.json).toMatchObject({ status: 503, code: "INTERNAL_ERROR", retryable: true });
      } finally {
        await rename(`${dataDir}.away`, dataDir);
      }
      await until(async () => (await ready()).status === 200, "the service to be ready");
      const { status, json } = await service.send("while-away-01", MAIL);
      expect(status).toBe(202);
      const isSent = async () =>
        (await service.call("GET", `/api/v1/emails/${json.id}`)).json.status === "sent";
      await until(isSent, "the delivery to be made");
    } finally {
      await service.remove();
    }
  },
  TEST_MS_MAX,
);
