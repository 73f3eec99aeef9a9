import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DiskSearch, Markers } from "../../support/files/diskSearch.ts";
import { type Sink, type SinkAnswer, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { runProgram } from "../../support/process/runCommand.ts";
import type { NameServer } from "../../support/servers/nameServer.ts";
import { startTestProcess, type TestProcess } from "../../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../../support/webhook/webhookReceiver.ts";
import { hostOf, loopbackNames, webhookSettings } from "../../support/webhook/webhookWorld.ts";

/** Servers and services start here, on cores that are shared. */
setDefaultTimeout(180_000);
const SETTLED_MS_MAX = 60_000;

const SENDER = "hello@example.com";
const PERSON_MESSAGES = 40;

function plainMessage(to: string, markers: Markers) {
  return { from: SENDER, to, subject: markers.word(), text: markers.word() };
}

/** A message with a word of its own in every part, and content of about this many characters. */
function messageTo(to: string, markers: Markers, characters: number): Record<string, unknown> {
  // Text that compresses well, but is not uniform.
  const filler = "Thank you for your order. ".repeat(Math.ceil(characters / 26));
  return {
    from: SENDER,
    to,
    from_name: markers.word(),
    to_name: markers.word(),
    reply_to: `${markers.word()}@example.net`,
    reply_to_name: markers.word(),
    subject: `Order ${markers.word()}`,
    html: `<p>${filler}${markers.word()}</p>`,
    text: `${filler.slice(0, 150_000)}${markers.word()} é`,
    variables: { name: markers.word() },
    metadata: { order: markers.word() },
    headers: { "X-Order": markers.word() },
    tags: [markers.word()],
    attachments: [fileWith(markers)],
  };
}

/** A file with a word in its name and one in its content. */
function fileWith(markers: Markers) {
  const content = Buffer.from(`${markers.word()}, a file\n`).toString("base64");
  return { filename: `${markers.word()}.txt`, content_type: "text/plain", content };
}

interface Place {
  readonly name: string;
  /** Begins a store; its settings and where its files are. */
  open(): Promise<{ readonly env: Readonly<Record<string, string>>; readonly folders: readonly string[] }>;
}

const places: readonly Place[] = [
  { name: "SQLite", open: async () => ({ env: {}, folders: [] }) },
  ...(canStartEventStoreDb
    ? [
        {
          name: "EventStoreDB",
          async open() {
            const own = await startEventStoreDb();
            const masterKey = Buffer.alloc(32, "erasure-on-disk").toString("base64");
            return { env: { STORE_URL: own.url, MASTER_KEY: masterKey }, folders: [own.folder] };
          },
        },
      ]
    : []),
];

describe.each(places)("the disks of a service on $name", ({ name, open }) => {
  const [theirs, others] = [new Markers(), new Markers()];
  const person = `${theirs.word()}@example.org`;
  const bouncing = `${theirs.word()}@example.org`;
  const refused = `${theirs.word()}@example.org`;
  const familyName = theirs.word();
  const other = `${others.word()}@example.org`;
  let dataDir: string;
  let folders: readonly string[];
  let env: Readonly<Record<string, string>>;
  let service: TestProcess;
  let sink: Sink;
  let receiver: WebhookReceiver;
  let names: NameServer;
  /** What earlier services wrote to their logs and to the terminal. */
  let output = "";
  /** What the relay says to RCPT. */
  let rcpt: SinkAnswer;
  /** The person's first and last message. */
  let [first, last] = ["", ""];

  /** A person as relays name them: address, local part alone, VERP, Base64, split name. */
  const spellings = (address: string) => {
    const [local] = address.split("@");
    const encoded = Buffer.from(address).toString("base64");
    return `${address} ${local} bounces+${local}=example.org ${encoded} "${familyName}, Ana"`;
  };

  const start = async (extraEnv: Readonly<Record<string, string>>) => {
    service = await startTestProcess({ dataDir, env: { ...env, LOG_REQUESTS: "all", ...extraEnv } });
  };
  const stop = async (signal: "SIGTERM" | "SIGKILL") => {
    await service.kill(signal);
    output += service.log() + service.out();
  };
  const send = async (parts: Record<string, unknown>): Promise<string> => {
    const { status, json } = await service.send(crypto.randomUUID(), parts);
    expect(status).toBe(202);
    return json.id;
  };
  const statusOf = async (id: string) => (await service.call("GET", `/api/v1/emails/${id}`)).json.status;
  const ended = (ids: readonly string[]) =>
    until(
      async () =>
        (await Promise.all(ids.map(statusOf))).every((status) => /sent|bounced|suppressed/.test(status)),
      "messages to end",
      SETTLED_MS_MAX,
    );
  const suppress = (address: string, markers: Markers) =>
    service.call("POST", "/api/v1/suppressions", { body: { address, note: markers.word() } });
  const search = (): DiskSearch => {
    const found = new DiskSearch();
    for (const folder of [dataDir, ...folders]) found.searchDirectory(folder);
    found.search(Buffer.from(output + service.log() + service.out()), "the services' log");
    return found;
  };
  /** Free pages of read models keep what they held: it is searched like all bytes, and is nobody's data. */
  const unreadablePages = ({ unreadable }: DiskSearch) =>
    unreadable.filter((page) => !page.includes("/projections/"));
  const missing = ({ found }: DiskSearch, markers: readonly string[]) =>
    markers.filter((one) => !found.has(one));

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "postledger-disk-"));
    ({ env, folders } = await open());
    // A relay that names people in its answers in every spelling.
    sink = await startSmtpSink({
      rcpt: () => rcpt,
      final: () => ({ code: 250, text: `2.0.0 taken from ${SENDER} for ${spellings(person)}` }),
    });
    // An endpoint that answers with what it was sent, and with what it knows of the person.
    receiver = await startWebhookReceiver((call, response) =>
      response.end(`${spellings(person)} ${call.body}`),
    );
    names = await loopbackNames();
    env = { ...env, ...(await webhookSettings(receiver, names, ["a"], dataDir)) };
  });
  afterAll(async () => {
    await service?.kill("SIGKILL");
    await sink?.close();
    receiver?.stop();
    names?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  test("hold everything that was sent, in every place it can be in", async () => {
    await start({ SMTP_URL: `smtp://127.0.0.1:${sink.port}` });
    const hook = await service.call("POST", "/webhooks", {
      body: { url: `https://${hostOf("a")}:${receiver.port}/a` },
    });
    expect(hook.status).toBe(201);
    const uploaded = async (markers: Markers) => {
      const { json } = await service.call("POST", "/api/v1/attachments", { body: fileWith(markers) });
      const path = `/api/v1/attachments/${json.id}`;
      await until(
        async () => (await service.call("GET", path)).json.status === "ready",
        "an upload",
        SETTLED_MS_MAX,
      );
      return json.id as string;
    };
    const ids: string[] = [];
    for (const [to, markers] of [
      [person, theirs],
      [other, others],
    ] as const) {
      // Small enough for an event as it is, compressed in an event, and in the content store.
      for (const characters of [300, 60_000, 480_000])
        ids.push(await send(messageTo(to, markers, characters)));
      ids.push(await send({ ...plainMessage(to, markers), attachments: [await uploaded(markers)] }));
    }
    first = ids[0] ?? "";
    await ended(ids);
    rcpt = { code: 550, text: `5.1.1 User unknown: ${spellings(refused)}` };
    const bounced = await send({ ...plainMessage(refused, theirs), metadata: { name: familyName } });
    await ended([bounced]);
    expect(await statusOf(bounced)).toBe("bounced");
    rcpt = undefined;
    // Suppressed twice, with a note each time, and by a bounce that repeats the address.
    await suppress(person, theirs);
    await service.call("DELETE", `/api/v1/suppressions/${person}`);
    await suppress(person, theirs);
    await suppress(other, others);
    await until(
      () => receiver.calls.some(({ body }) => body.includes(person)),
      "the webhook to be delivered",
      SETTLED_MS_MAX,
    );
    const path = `/webhooks/${hook.json.id}/deliveries?status=pending`;
    await until(
      async () => (await service.call("GET", path)).json.data.length === 0,
      "all of it to be delivered",
      SETTLED_MS_MAX,
    );
    await stop("SIGTERM");

    await start({ SMTP_URL: "outbox:" });
    await service.call("DELETE", `/api/v1/suppressions/${person}`);
    await service.call("DELETE", `/api/v1/suppressions/${other}`);
    const commandOutputs = [
      await send(messageTo(person, theirs, 300)),
      await send(messageTo(other, others, 300)),
      await send(messageTo(bouncing, theirs, 300)),
    ];
    await ended(commandOutputs);
    await suppress(person, theirs);
    for (let count = 0; count < PERSON_MESSAGES; count += 1) {
      last = await send(plainMessage(person, theirs));
    }
    const before = search();
    expect(missing(before, [...theirs.all, ...others.all])).toEqual([]);
    // In the log, the content store and the outbox: the search can read all of them.
    const foundPlaces = [...before.found.values()].flatMap((places) => [...places]).join("\n");
    const log = name === "SQLite" ? /events\.db/ : /chunk-/;
    for (const place of [log, /\/[0-9a-f]{64}$/m, /\.eml$/m]) expect(foundPlaces).toMatch(place);
    expect(foundPlaces).not.toContain("the services' log");
    expect(foundPlaces).not.toContain("/projections/");
  });

  test("hold nothing of a person who was erased, however often the service was killed meanwhile", async () => {
    const requests: string[] = [];
    const requestFor = async (address: string) => {
      if (name === "SQLite") return requestErasureByCommand(address);
      const { status, json } = await service.call("POST", "/api/v1/erasures", { body: { address } });
      expect(status).toBe(202);
      return json.id as string;
    };
    requests.push(await requestFor(person));
    // Killed when the first of the messages is erased, and again when the last one is.
    for (const id of [first, last]) {
      const isErased = async () => (await service.call("GET", `/api/v1/emails/${id}`)).json.content_erased;
      await until(isErased, "a message to be erased", SETTLED_MS_MAX);
      await stop("SIGKILL");
      await start({ SMTP_URL: "outbox:" });
    }
    requests.push(await requestFor(bouncing), await requestFor(refused));
    const report = async (id: string) => (await service.call("GET", `/api/v1/erasures/${id}`)).json;
    for (const id of requests) {
      const isDone = async () => (await report(id)).status === "completed";
      await until(isDone, "the erasure to complete", SETTLED_MS_MAX);
    }
    expect((await report(requests[0] ?? "")).report).toMatchObject({
      messages_erased: 5 + PERSON_MESSAGES,
      messages_erased_before: 0,
      uploads_erased: 1,
      uploads_kept: [],
      suppressions_erased: 1,
      outbox_messages: 1,
      remains: [],
    });
    let after = search();
    // A file that the service was just writing to can look as if a free page were in use.
    await until(() => {
      if (unreadablePages(after).length > 0) after = search();
      return unreadablePages(after).length === 0;
    }, "the files to be readable").catch(() => {});
    const places = theirs.all.flatMap((marker) =>
      [...(after.found.get(marker) ?? [])].map((place) => `${theirs.all.indexOf(marker)} ${marker} ${place}`),
    );
    expect(places).toEqual([]);
    expect(unreadablePages(after)).toEqual([]);
    // Other people's data is still found, which shows that the search works.
    expect(missing(after, others.all)).toEqual([]);
    expect((await service.call("GET", `/api/v1/suppressions/${person}`)).json).toMatchObject({
      address: null,
      note: null,
    });
    expect(await statusOf(await send({ from: SENDER, to: person, subject: "Again", text: "Hello" }))).toBe(
      "suppressed",
    );
  });

  /** The operator's way, beside the running service. */
  async function requestErasureByCommand(address: string): Promise<string> {
    const run = (...words: string[]) => runProgram(["erasure", ...words, "--json"], dataDir);
    const { exitCode, json } = await run("request", address, "--reference", "SUP-4711");
    expect(exitCode).toBe(0);
    expect(json).toHaveLength(1);
    const [made] = json;
    const listed = expect.objectContaining({
      id: made.id,
      workspace_id: made.workspace_id,
      reference: "SUP-4711",
    });
    expect((await run("list")).json).toContainEqual(listed);
    expect((await run("show", made.id)).json).toMatchObject({
      id: made.id,
      workspace_id: made.workspace_id,
    });
    return made.id;
  }
});
