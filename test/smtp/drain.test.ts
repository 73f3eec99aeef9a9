import { expect, test } from "bun:test";
import { createServer } from "node:net";
import { listenError } from "../../src/service/faults/startupErrors.ts";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { SENDER, startService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

test("a stopping service accepts the mail that is already coming in, and no other", async () => {
  const service = await startService(sqliteStore, { SUBMISSION_PORT: "0" });
  const { app } = service.app;
  const port = app.submission?.port ?? 0;
  const { apiKey } = await service.tenant();
  const busy = await smtpClient(port);
  const idle = await smtpClient(port);
  await busy.logIn(apiKey);
  await idle.logIn(apiKey);
  for (const line of ["MAIL FROM:<a@example.com>", "RCPT TO:<ana@example.com>", "DATA"])
    await busy.command(line);
  busy.write(`From: ${SENDER}\r\nSubject: Hello\r\n\r\nThe first half`);
  await until(() => app.inFlight().requests === 1, "the mail to be in transfer");
  const stopped = app.stop();
  expect(await idle.reply()).toStartWith("421 4.3.2 ");
  await until(() => idle.isClosed(), "the idle session to end");
  busy.write(" and the second.\r\n.\r\n");
  expect(await busy.reply()).toStartWith("250 2.6.0 accepted as ");
  expect(await busy.reply()).toStartWith("421 4.3.2 ");
  await stopped;
  await until(() => busy.isClosed(), "the busy session to end");
  const late = await smtpClient(port);
  expect(late.isClosed()).toBe(true);
  await service.log.store.close();
});

test("a port in use is reported with the name of its setting", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const start = startService(sqliteStore, { SUBMISSION_PORT: String(port) });
  await expect(start).rejects.toThrow(`SUBMISSION_PORT ${port} on 127.0.0.1 is in use by another program`);
  other.close();
  const unavailable = Object.assign(new Error("x"), { code: "EADDRNOTAVAIL" });
  expect(String(listenError("SUBMISSION_", { host: "192.0.2.1", port }, unavailable))).toContain(
    "SUBMISSION_HOST 192.0.2.1 is not an address of this machine",
  );
});
