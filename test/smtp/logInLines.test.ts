import { expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { startTestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

test("a refused log-in over SMTP leaves a line, without the password and the address", async () => {
  const service = await startTestProcess({ env: { SUBMISSION_PORT: "0", AUTH_FAILURES_PER_MINUTE: "2" } });
  try {
    const lines = () =>
      service
        .log()
        .split("\n")
        .filter((line) => line.includes('"method":"SMTP"'));
    const listening = /"port":(\d+),"msg":"taking mail over SMTP"/;
    await until(() => listening.test(service.log()), "the port");
    const port = Number(listening.exec(service.log())?.[1]);
    const issue = async () =>
      (
        await service.call("POST", "/api/v1/api-keys", {
          body: { name: "reader", scopes: ["email:read"] },
        })
      ).json;
    const [reader, revoked] = [await issue(), await issue()];
    await service.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`);
    const replies: string[] = [];
    for (const key of [service.apiKey, reader.key, revoked.key, "wrong-password", "wrong-password"]) {
      const client = await smtpClient(port);
      replies.push((await client.logIn(key)).slice(0, 3));
      client.destroy();
    }
    expect(replies).toEqual(["235", "535", "535", "535", "421"]);
    await until(() => lines().length === 4, "the lines");
    const [forbidden, ended, unknown, limited] = lines().map((line) => JSON.parse(line));
    expect(forbidden).toMatchObject({ path: "submission", status: 403, code: "FORBIDDEN", msg: "refused" });
    expect(forbidden.workspaceId).not.toBeNull();
    const { workspaceId } = forbidden;
    expect(ended).toMatchObject({
      level: 40,
      status: 401,
      workspaceId,
      keyId: revoked.id,
      keyStatus: "revoked",
    });
    expect(unknown).toMatchObject({ status: 401, code: "UNAUTHORIZED", workspaceId: null, msg: "refused" });
    expect(limited).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    expect(service.log()).not.toContain("wrong-password");
  } finally {
    await service.kill("SIGTERM");
    await rm(service.dataDir, { recursive: true });
  }
});
