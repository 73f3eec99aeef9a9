import { describe, expect, test } from "bun:test";
import type { Check } from "../../../src/service/status/checks/check.ts";
import { startSmtpSink } from "../../support/mail/smtpSink.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import {
  type ServiceOptions,
  startTestApp,
  startTestProcess,
  type TestProcess,
} from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const START_MS = 60_000;
const SECRET = "s3cret-word";
const USER = "post.office@example.net";
const first = () => message({ from: "hello@example.com" });

async function withProcess(
  options: ServiceOptions,
  work: (service: TestProcess) => Promise<void>,
): Promise<void> {
  const service = await startTestProcess(options);
  try {
    await work(service);
  } finally {
    await service.kill("SIGTERM");
  }
}

/** The lines of the log that speak of the relay. */
function relayLines(service: TestProcess) {
  const lines = service.log().split("\n");
  return lines.filter((line) => line.includes('"relay":')).map((line) => JSON.parse(line));
}

async function waitingOf(service: Pick<TestProcess, "call">, id: string) {
  return (await service.call("GET", `/api/v1/emails/${id}`)).json;
}

describe("a message", () => {
  test(
    "whose relay is down says so, and the log says it once, with what to do",
    () =>
      withProcess({ env: { SMTP_URL: "smtp://127.0.0.1:1" } }, async (service) => {
        const sent = await service.send(newKey(), first());
        expect(Object.keys(sent.json).sort()).toEqual(["created_at", "id", "object", "status"]);
        const { id } = sent.json;
        await until(
          async () => (await waitingOf(service, id)).waiting.reason === "relay_unavailable",
          "the message to show what it waits for",
        );
        const { waiting, status, attempts } = await waitingOf(service, id);
        expect({ status, attempts }).toEqual({ status: "queued", attempts: 0 });
        expect(waiting.detail).toBe("The relay cannot be reached.");
        expect(Date.parse(waiting.until)).toBeGreaterThan(Date.parse(sent.json.created_at));
        await service.send(newKey(), first());
        const relayTrouble = async () =>
          (await service.call("GET", "/health/ready")).json.checks.relay.ok === false;
        await until(relayTrouble, "the breaker to open");
        expect(relayLines(service)).toEqual([
          expect.objectContaining({
            level: 40,
            relay: "127.0.0.1:1",
            reason: expect.stringContaining("ECONNREFUSED"),
            waiting: expect.any(Number),
            msg: expect.stringMatching(/^the relay cannot be reached: check host and port in SMTP_URL/),
          }),
        ]);
      }),
    START_MS,
  );

  test(
    "whose relay refuses the log-in is sent once it accepts it again, and no log line shows user or password",
    async () => {
      let isAccepting = false;
      const sink = await startSmtpSink(
        {},
        {
          authOptional: false,
          allowInsecureAuth: true,
          hideSTARTTLS: true,
          onAuth({ username = "", password }, _session, answer) {
            if (isAccepting) return answer(null, { user: username });
            const refusal = new Error(`no such account: ${username} ${password}`);
            answer(Object.assign(refusal, { responseCode: 535 }));
          },
        },
      );
      const credentials = `${encodeURIComponent(USER)}:${SECRET}`;
      const env = { SMTP_URL: `smtp://${credentials}@127.0.0.1:${sink.port}` };
      try {
        await withProcess({ env }, async (service) => {
          const { id } = (await service.send(newKey(), first())).json;
          const isWaiting = async () =>
            (await waitingOf(service, id)).waiting?.reason === "relay_unavailable";
          await until(isWaiting, "the message to show what it waits for");
          expect((await waitingOf(service, id)).waiting.detail).toBe(
            "The relay refuses the service's log-in, or wants one.",
          );
          isAccepting = true;
          await until(async () => (await waitingOf(service, id)).status === "sent", "the message to be sent");
          expect((await waitingOf(service, id)).waiting).toBeNull();
          await until(() => relayLines(service).length === 2, "the end of the outage to be logged");
          const [began, ended] = relayLines(service);
          expect(began).toMatchObject({
            reason: expect.stringContaining("535"),
            msg: expect.stringContaining("check user and password in SMTP_URL"),
          });
          expect(ended).toMatchObject({
            level: 30,
            relay: `127.0.0.1:${sink.port}`,
            attempts: expect.any(Number),
            forSeconds: expect.any(Number),
            msg: "the relay takes mail again",
          });
          for (const word of [SECRET, USER]) expect(service.log()).not.toContain(word);
        });
      } finally {
        await sink.close();
      }
    },
    START_MS,
  );

  test(
    "whose relay wants a log-in that SMTP_URL does not have waits and goes later, and the log says what is missing",
    async () => {
      let isAccepting = false;
      const sink = await startSmtpSink({
        mail: () => (isAccepting ? undefined : { code: 530, text: "5.7.0 Authentication required" }),
      });
      const env = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, DELIVERY_RELAY_RETRY_MS: "100" };
      try {
        await withProcess({ env }, async (service) => {
          const { id } = (await service.send(newKey(), first())).json;
          await until(
            async () => (await waitingOf(service, id)).status === "deferred",
            "an attempt to be postponed",
          );
          await until(() => relayLines(service).length > 0, "the log line");
          expect(relayLines(service)[0]).toMatchObject({
            level: 40,
            reason: "authentication_required: 530",
            msg: expect.stringContaining("check user and password in SMTP_URL"),
          });
          isAccepting = true;
          await until(async () => (await waitingOf(service, id)).status === "sent", "the message to be sent");
        });
      } finally {
        await sink.close();
      }
    },
    START_MS,
  );

  test(
    "that the relay permanently refuses because of the sender is reported in the log and by doctor, with what to do",
    async () => {
      const dataDir = temporaryFolder();
      const sink = await startSmtpSink({
        final: () => ({
          code: 554,
          text: "Message rejected: Email address is not verified. hello@example.com",
        }),
      });
      try {
        await withProcess(
          { dataDir, env: { SMTP_URL: `smtp://127.0.0.1:${sink.port}` } },
          async (service) => {
            const { id } = (await service.send(newKey(), first())).json;
            await until(
              async () => (await waitingOf(service, id)).status === "failed",
              "the message to fail",
            );
            await until(() => relayLines(service).length > 0, "the log line");
            expect(relayLines(service)[0]).toMatchObject({
              level: 40,
              emailId: id,
              reason: "sender_rejected: 554",
              failed: 1,
              msg: expect.stringMatching(
                /refuses mail for good.*verify the sender's address or domain at the relay/,
              ),
            });
            expect(service.log()).not.toContain("hello@example.com");
            const { exitCode, json } = await runCommand(["doctor", "--json"], dataDir);
            expect(exitCode).toBe(0);
            expect(json.find(({ name }: Check) => name === "delivery workers")).toEqual({
              name: "delivery workers",
              status: "warning",
              detail: expect.stringContaining("the relay refused mail for good: sender_rejected, 554"),
              action: expect.stringContaining(`GET /api/v1/emails/${id}`),
            });
          },
        );
      } finally {
        await sink.close();
      }
    },
    START_MS,
  );

  test("behind another one says what is in its way: the one place at the relay, then a pause", async () => {
    const sink = await startSmtpSink({ final: () => new Promise<undefined>(() => undefined) });
    const env = {
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SMTP_CONNECTIONS_MAX: "1",
      DRAIN_TIMEOUT_MS: "0",
    };
    const app = await startTestApp({ env });
    try {
      const { id } = (await app.send(newKey(), first())).json;
      await sink.until(({ messages }) => messages.length > 0);
      const claimed = await waitingOf(app, id);
      expect(claimed).toMatchObject({ status: "sending", waiting: { reason: "being_delivered" } });
      const erased = await app.call("DELETE", `/api/v1/emails/${id}/content`);
      expect(erased).toMatchObject({ status: 202, json: { waiting: { reason: "being_delivered" } } });
      const second = (await app.send(newKey(), first())).json;
      const queued = { reason: "in_queue", until: null };
      expect(await waitingOf(app, second.id)).toMatchObject({ status: "queued", waiting: queued });
      expect((await app.call("POST", "/api/v1/workspace/pause")).status).toBe(200);
      const paused = { reason: "sending_paused", until: null };
      expect(await waitingOf(app, second.id)).toMatchObject({ status: "queued", waiting: paused });
      const past = await app.call("GET", `/api/v1/emails/${second.id}?as_of=${second.created_at}`);
      expect(past).toMatchObject({ status: 200, json: { waiting: null } });
      expect((await waitingOf(app, id)).waiting.reason).toBe("being_delivered");
    } finally {
      await app.remove();
      await sink.close();
    }
  });
});
