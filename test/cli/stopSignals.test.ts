import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type StopSignal, stopSignals } from "../../src/cli/service/stopSignals.ts";
import { serviceAddress } from "../../src/service/localControlServer.ts";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { startOnTerminal, type TerminalProcess } from "../support/process/terminal.ts";
import { ROOT } from "../support/root.ts";
import { startTestApp, startTestProcess, type TestProcess } from "../support/service.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const TEST_MS = 60_000;
const CTRL_C = "\u0003";

/** What signals at these times come to. */
function actionsAfter(
  ...signals: readonly (readonly [atMs: number, signal: StopSignal])[]
): readonly string[] {
  const actions: string[] = [];
  let now = 0;
  const receive = stopSignals({
    nowMs: () => now,
    drain: (signal) => actions.push(`drain ${signal}`),
    endAtOnce: (signal) => actions.push(`end ${signal}`),
  });
  for (const [atMs, signal] of signals) {
    now = atMs;
    receive(signal);
  }
  return actions;
}

describe("signals to stop", () => {
  test("within a second are one Ctrl-C, however many there are", () => {
    expect(actionsAfter([5, "SIGINT"], [5, "SIGINT"], [500, "SIGTERM"], [1_004, "SIGINT"])).toEqual([
      "drain SIGINT",
    ]);
  });

  test("after it is distinguished: a second Ctrl-C ends the process at once", () => {
    expect(actionsAfter([5, "SIGTERM"], [6, "SIGTERM"], [1_005, "SIGINT"])).toEqual([
      "drain SIGTERM",
      "end SIGINT",
    ]);
  });
});

/** A relay that takes a message and says nothing until it is told to. */
async function silentRelay(): Promise<{ sink: Sink; speak: () => void }> {
  let speak = (): void => undefined;
  const silence = new Promise<undefined>((resolve) => {
    speak = () => resolve(undefined);
  });
  return { sink: await startSmtpSink({ final: () => silence }), speak };
}

describe("a service with a message at the relay", () => {
  async function withDelivery(
    work: (at: {
      sink: Sink;
      speak: () => void;
      dataDir: string;
      env: Record<string, string>;
    }) => Promise<void>,
  ): Promise<void> {
    const dataDir = temporaryFolder();
    const { sink, speak } = await silentRelay();
    try {
      await work({ sink, speak, dataDir, env: { SMTP_URL: `smtp://127.0.0.1:${sink.port}` } });
    } finally {
      speak();
      await sink.close();
    }
  }

  async function sendOne(service: TestProcess, sink: Sink): Promise<string> {
    const { json } = await service.send(newKey(), message({ from: "hello@example.com" }));
    await sink.until(({ messages }) => messages.length > 0);
    return json.id;
  }

  /** Sends with the command that the service shows on its terminal. */
  async function sendByGreeting(terminal: TerminalProcess, sink: Sink): Promise<string> {
    const curl = () => /^curl [\s\S]*?\n\n/m.exec(terminal.screen())?.[0];
    await until(() => curl() !== undefined, "the greeting");
    const sent = Bun.spawn(["sh", "-c", `${curl()}`], { cwd: "/", stdout: "pipe", stderr: "ignore" });
    const id = /"id":"([0-9a-f-]{36})"/.exec(await new Response(sent.stdout).text())?.[1] ?? "";
    await sink.until(({ messages }) => messages.length > 0);
    return id;
  }

  /** How the message stands for whoever starts the service next. */
  async function statusAfter(dataDir: string, id: string): Promise<string> {
    const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
    try {
      return (await app.call("GET", `/api/v1/emails/${id}`)).json.status;
    } finally {
      await app.remove();
    }
  }

  test(
    "finishes it at one Ctrl-C, which arrives from the terminal and from the runner",
    () =>
      withDelivery(async ({ sink, speak, dataDir, env }) => {
        const service = await startTestProcess({ dataDir, env, wrapper: ["setsid"] });
        const id = await sendOne(service, sink);
        process.kill(-service.pid, "SIGINT");
        process.kill(service.pid, "SIGINT");
        await until(() => service.log().includes('"msg":"draining"'), "the drain to begin");
        process.kill(service.pid, "SIGINT");
        expect(service.log()).toMatch(/"deliveries":1,.*"msg":"draining"/);
        speak();
        expect(await service.exited).toBe(0);
        expect(await statusAfter(dataDir, id)).toBe("sent");
      }),
    TEST_MS,
  );

  test(
    "finishes it when its terminal is closed",
    () =>
      withDelivery(async ({ sink, speak, dataDir, env }) => {
        const terminal = startOnTerminal([...COMMAND_LINE, "serve"], {
          cwd: "/",
          env: { ...env, HOST: "127.0.0.1", PORT: "0", DATA_DIR: dataDir, DISK_FREE_BYTES_MIN: "0" },
        });
        const id = await sendByGreeting(terminal, sink);
        terminal.hangUp();
        await until(async () => (await serviceAddress(dataDir)) === null, "the drain to begin");
        speak();
        expect(await terminal.exited).toBe(0);
        expect(await statusAfter(dataDir, id)).toBe("sent");
      }),
    TEST_MS,
  );

  test(
    "ignores the end of its terminal under nohup",
    () =>
      withDelivery(async ({ sink, speak, dataDir, env }) => {
        const service = await startTestProcess({ dataDir, env, wrapper: ["nohup"] });
        await sendOne(service, sink);
        process.kill(service.pid, "SIGHUP");
        expect((await service.call("GET", "/health/live")).status).toBe(200);
        speak();
        expect(await service.kill("SIGTERM")).toBe(0);
        expect(service.log()).toContain('"signal":"SIGTERM"');
      }),
    TEST_MS,
  );

  test(
    "is left at once at a later Ctrl-C, with a status of its own",
    () =>
      withDelivery(async ({ sink, dataDir, env }) => {
        const service = await startTestProcess({ dataDir, env });
        const id = await sendOne(service, sink);
        const typing = setInterval(() => process.kill(service.pid, "SIGINT"), 50);
        const status = await service.exited.finally(() => clearInterval(typing));
        expect(status).toBe(130);
        expect(service.log()).toContain("ended at once");
        expect(await statusAfter(dataDir, id)).toBe("sending");
      }),
    TEST_MS,
  );

  test(
    "is finished by `bun start` on a terminal, which says what it waits for",
    () =>
      withDelivery(async ({ sink, speak, dataDir, env }) => {
        const terminal = startOnTerminal([process.execPath, "start"], {
          cwd: ROOT,
          env: { ...env, HOST: "127.0.0.1", PORT: "0", DATA_DIR: dataDir, DISK_FREE_BYTES_MIN: "0" },
        });
        const id = await sendByGreeting(terminal, sink);
        terminal.type(CTRL_C);
        const sentence = "Finishing 0 requests and 1 delivery… press Ctrl-C again to stop at once.";
        await until(() => terminal.screen().includes(sentence), "the terminal to show what it waits for");
        speak();
        expect(await terminal.exited).toBe(0);
        expect(terminal.screen().split(sentence)).toHaveLength(2);
        expect(await statusAfter(dataDir, id)).toBe("sent");
      }),
    TEST_MS,
  );
});

test(
  "a service whose log somebody keeps locked ends within its time, and names what it left",
  async () => {
    const dataDir = temporaryFolder();
    const service = await startTestProcess({
      dataDir,
      env: { DRAIN_TIMEOUT_MS: "500", STORE_TIMEOUT_MS: "60000" },
    });
    // It has messages of the daily limit in reserve, and a key whose use it has not recorded.
    await service.send(newKey(), message({ from: "hello@example.com" }));
    const other = new DatabaseSync(join(dataDir, "events.db"));
    try {
      other.exec("BEGIN IMMEDIATE");
      expect(await service.kill("SIGTERM")).toBe(0);
      expect(service.log()).toMatch(/"step":"background jobs","msg":"a step of the stop took too long/);
    } finally {
      other.close();
    }
  },
  TEST_MS,
);

/** Whether somebody listens on a port of this machine. */
function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}

test(
  "a service whose store does not answer ends while it starts",
  async () => {
    const dataDir = temporaryFolder();
    const [port, storePort] = [await freePort(), await freePort()];
    const env = {
      ...{ PATH: process.env.PATH, DATA_DIR: dataDir, HOST: "127.0.0.1", PORT: String(port) },
      STORE_URL: `esdb://127.0.0.1:${storePort}?tls=false`,
      STORE_TIMEOUT_MS: "60000",
      MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    const service = Bun.spawn([...COMMAND_LINE, "serve"], { env, stderr: "pipe" });
    try {
      await until(() => isListening(port), "the service to listen");
      service.kill("SIGTERM");
      expect(await service.exited).toBe(0);
      expect(await new Response(service.stderr).text()).toContain("stopped before it had started");
    } finally {
      service.kill("SIGKILL");
    }
  },
  TEST_MS,
);
