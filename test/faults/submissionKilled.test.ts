import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROUNDS = 4;
const CLIENTS = 6;
const RECIPIENTS = ["ana@example.org", "bob@example.org"];
/** After so many replies of 250 in a round the service is killed, with other mails in every stage. */
const REPLIES_BEFORE_KILL = 25;

/** A mail, and the ids that were in a reply of 250. */
interface Mail {
  readonly name: string;
  reply: string | null;
}

let dataDir: string;
let service: TestProcess | undefined;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postledger-submission-"));
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<{ readonly process: TestProcess; readonly port: number }> {
  const process = await startTestProcess({ dataDir, env: { DELIVERY: "off", SUBMISSION_PORT: "0" } });
  service = process;
  const line = () => /"port":(\d+)[^\n]*taking mail over SMTP/.exec(process.log());
  await until(() => line() !== null, "the service to accept mail");
  return { process, port: Number(line()?.[1]) };
}

function content({ name }: Mail): string {
  const fields = ["From: hello@example.com", `Subject: ${name}`, `Message-ID: <${name}@client.example>`];
  return [...fields, "", `This is ${name}.`, ""].join("\r\n");
}

/** Sends mails over one connection until it ends; notes the replies of 250. */
async function sendUntilTheEnd(port: number, key: string, next: () => Mail | null): Promise<void> {
  const client = await smtpClient(port);
  await client.logIn(key);
  for (let mail = next(); mail !== null && !client.isClosed(); mail = next()) {
    const reply = await client.send(RECIPIENTS, content(mail));
    if (reply.startsWith("250 2.6.0")) mail.reply = reply;
  }
  client.destroy();
}

async function storedMessages(from: TestProcess): Promise<readonly string[]> {
  const stored: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const after: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { json } = await from.call("GET", `/api/v1/emails?limit=100${after}`);
    for (const { subject, to } of json.data) stored.push(`${subject} ${to}`);
    cursor = json.next_cursor;
  }
  return stored;
}

test("after kill -9 every 250 reply has its messages, and a repeated submission adds none", async () => {
  const mails: Mail[] = [];
  let killed = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const { process, port } = await start();
    const replied = () => mails.filter(({ reply }) => reply !== null).length;
    const target = replied() + REPLIES_BEFORE_KILL;
    const next = () => {
      const mail: Mail = { name: `mail-${mails.length}`, reply: null };
      mails.push(mail);
      return mail;
    };
    const sending = Array.from({ length: CLIENTS }, () => sendUntilTheEnd(port, process.apiKey, next));
    await until(() => replied() >= target, "replies");
    await process.kill("SIGKILL");
    killed += 1;
    await Promise.all(sending);
  }
  const { process, port } = await start();
  const confirmed = mails.filter(({ reply }) => reply !== null);
  const expected = confirmed.flatMap(({ name }) => RECIPIENTS.map((to) => `${name} ${to}`));
  await until(async () => {
    const stored = new Set(await storedMessages(process));
    return expected.every((one) => stored.has(one));
  }, "every promised message");

  // Clients without a reply repeat; so does one in four of those with one.
  const before = new Map(confirmed.map(({ name, reply }) => [name, reply]));
  const repeated = mails.filter(({ reply }, index) => reply === null || index % 4 === 0);
  for (const mail of repeated) mail.reply = null;
  const left = [...repeated];
  await sendUntilTheEnd(port, process.apiKey, () => left.shift() ?? null);
  for (const { name, reply } of repeated) {
    expect(reply).toStartWith("250 2.6.0");
    if (before.has(name)) expect(reply).toBe(before.get(name) ?? "");
  }
  const all = mails.flatMap(({ name }) => RECIPIENTS.map((to) => `${name} ${to}`)).sort();
  await until(async () => (await storedMessages(process)).length >= all.length, "all messages in the list");
  expect((await storedMessages(process)).toSorted()).toEqual(all);
  console.log(
    `${killed} kills, ${confirmed.length} of ${mails.length} mails promised, ${repeated.length} repeated`,
  );
}, 120_000);
