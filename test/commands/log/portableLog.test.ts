import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { AuditSealer } from "../../../src/commands/audit/auditSealer.ts";
import { EVENT_ERASED } from "../../../src/domain/logImport/events.ts";
import { type EventStore, LOG_START, StoreError } from "../../../src/ports/eventStore.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { append, beginLog, emptyStore, exportOf, importOf, snapshotOf, someEvent } from "./portableLog.ts";

/** One step of a random history. */
type Step =
  | {
      readonly kind: "append";
      readonly stream: string;
      readonly sizes: readonly number[];
      readonly isBinary: boolean;
    }
  | { readonly kind: "truncate"; readonly stream: string; readonly part: number };

const STREAMS = ["email-1", "email-2", "storage-w", "suppression-_a-Z0", "webhooks-w"];
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("append" as const),
        stream: fc.constantFrom(...STREAMS),
        sizes: fc.array(fc.nat(300), { minLength: 1, maxLength: 4 }),
        isBinary: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("truncate" as const),
        stream: fc.constantFrom(...STREAMS),
        // Past the end too: then nothing of the stream is left.
        part: fc.double({ min: 0, max: 1.2, noNaN: true }),
      }),
    },
  ),
  { maxLength: 40 },
);

async function play(store: EventStore, history: readonly Step[]): Promise<void> {
  await beginLog(store);
  for (const step of history) {
    if (step.kind === "truncate") {
      const last = (await store.lastRevision(step.stream)) ?? -1;
      await store.truncateBefore(step.stream, Math.min(last + 1, Math.floor(step.part * (last + 1))));
      continue;
    }
    const data = (size: number) =>
      step.isBinary ? new Uint8Array(size).fill(size) : { text: "ü\n\u2028".repeat(size), size };
    await append(store, step.stream, ...step.sizes.map((size) => someEvent(data(size))));
  }
}

/** A store that gives up after so many appends, as a process that is killed does. */
function crashingStore(store: EventStore, appends: number): EventStore {
  let left = appends;
  const forward: EventStore["append"] = (...call) => {
    left -= 1;
    if (left < 0) throw new StoreError("unavailable", "killed by the test");
    return store.append(...call);
  };
  return Object.assign(Object.create(store) as EventStore, { append: forward });
}

const RECORDED_EVENTS = 2;

test("an import restores the streams, revisions and order of the exported log (property)", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const source = memoryEventStore();
      await play(source, history);
      const exported = await exportOf(source);
      const { store, remove } = emptyStore();
      try {
        const imported = await importOf(store, exported.lines);
        const { events, missing } = exported.end;
        expect(imported).toEqual({ events, missing, found: 0, unsealed: events });
        const [before, after] = [await snapshotOf(source, STREAMS), await snapshotOf(store, STREAMS)];
        expect(after.views).toEqual(before.views);
        // Behind it all the store notes that the log is restored.
        expect(after.order.slice(0, -1)).toEqual(before.order);
        for (const stream of STREAMS) {
          const answers = [source, store].map((one) => one.append(stream, [someEvent()], "noStream"));
          const [here, there] = await Promise.all(answers);
          expect(there?.outcome).toBe(here?.outcome ?? "appended");
        }
      } finally {
        await remove();
      }
    }),
    { numRuns: 40 },
  );
});

test("an import counts the events that no seal covers, also when it is continued", async () => {
  const source = memoryEventStore();
  await beginLog(source);
  await append(source, "email-1", someEvent(), someEvent());
  const clock = { now: () => Date.now(), monotonicMs: () => performance.now() };
  const sealer = new AuditSealer({ store: source, clock, signingKey: null, actor: "test" });
  await sealer.readOn(async () => {});
  await sealer.seal();
  await append(source, "email-1", someEvent());
  await append(source, "email-2", someEvent(), someEvent());
  // What a seal names may be gone since.
  await source.truncateBefore("email-1", 2);
  const exported = await exportOf(source);
  const { lines } = exported;
  for (const appends of [1, 3, 5, 6, 7, 8, 9, 1_000]) {
    const { store, remove } = emptyStore();
    try {
      await importOf(crashingStore(store, appends), lines).catch(() => {});
      if (!(await isFinished(store))) expect(await importOf(store, lines)).toMatchObject({ unsealed: 3 });
    } finally {
      await remove();
    }
  }
  const forged = lines.map((line) => line.replace(/"leaves":"[^"]*"/, '"leaves":5'));
  const body = forged.slice(0, -1);
  const sha256 = new Bun.CryptoHasher("sha256")
    .update(body.map((line) => `${line}\n`).join(""))
    .digest("hex");
  const { store, remove } = emptyStore();
  const end = JSON.stringify({ end: { ...exported.end, sha256 } });
  expect(await importOf(store, [...body, end])).toMatchObject({ unsealed: null });
  await remove();
});

test("an import that was interrupted anywhere can be continued (property)", async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
      async (history, crashes) => {
        const source = memoryEventStore();
        await play(source, history);
        const { lines, end } = await exportOf(source);
        const { store, remove } = emptyStore();
        try {
          for (const appends of crashes) await importOf(crashingStore(store, appends), lines).catch(() => {});
          if (!(await isFinished(store))) expect((await importOf(store, lines)).events).toBe(end.events);
          const [before, after] = [await snapshotOf(source, STREAMS), await snapshotOf(store, STREAMS)];
          expect(after.views).toEqual(before.views);
          expect(after.order.slice(0, -1)).toEqual(before.order);
        } finally {
          await remove();
        }
      },
    ),
    { numRuns: 40 },
  );
});

async function isFinished(store: EventStore): Promise<boolean> {
  return (await store.read("import", 0, 10)).length === RECORDED_EVENTS;
}

describe("an export", () => {
  test("lists missing revisions right before the event that follows them", async () => {
    const source = memoryEventStore();
    await beginLog(source);
    await append(source, "email-1", someEvent(), someEvent(), someEvent());
    await append(source, "email-2", someEvent());
    await source.truncateBefore("email-1", 2);
    await source.truncateBefore("email-2", 1);
    const { lines, end } = await exportOf(source);
    expect(end).toMatchObject({ events: 2, missing: 3 });
    expect(lines.slice(2, -1).map((line) => JSON.parse(line).missing ?? JSON.parse(line).stream)).toEqual([
      { stream: "email-1", from: 0, through: 1 },
      "email-1",
      { stream: "email-2", from: 0, through: 0 },
    ]);
  });

  test("goes on when a stream is truncated while it is being read", async () => {
    const source = memoryEventStore({ batchEventsMax: 4 });
    await beginLog(source);
    for (let index = 0; index < 4; index += 1) await append(source, "storage-w", someEvent(), someEvent());
    await append(source, "email-1", someEvent());
    const truncatingStore = Object.assign(Object.create(source) as EventStore, {
      async *readAll(...call: Parameters<EventStore["readAll"]>) {
        for await (const batch of source.readAll(...call)) {
          yield batch;
          await source.truncateBefore("storage-w", 6);
        }
      },
    });
    const { lines, end } = await exportOf(truncatingStore);
    expect(end.missing).toBeGreaterThan(0);
    const { store, remove } = emptyStore();
    await importOf(store, lines);
    expect(await store.lastRevision("storage-w")).toBe(7);
    expect((await store.read("storage-w", 0, 10)).map(({ revision }) => revision)).toEqual([6, 7]);
    await remove();
  });

  test("leaves out the events that an import keeps in a store", async () => {
    const source = memoryEventStore();
    await beginLog(source);
    await append(source, "email-1", someEvent(), someEvent());
    await source.truncateBefore("email-1", 1);
    const intermediate = memoryEventStore();
    await importOf(intermediate, (await exportOf(source)).lines);
    const { lines } = await exportOf(intermediate);
    expect(lines.join("\n")).not.toContain(EVENT_ERASED);
    expect(lines.join("\n")).not.toContain("LogImport");
    const { store, remove } = emptyStore();
    await importOf(store, lines);
    expect((await snapshotOf(store, ["email-1"])).views).toEqual(
      (await snapshotOf(source, ["email-1"])).views,
    );
    await remove();
  });
});

describe("an import", () => {
  const exported = async () => {
    const source = memoryEventStore();
    await beginLog(source);
    for (let index = 0; index < 6; index += 1)
      await append(source, `email-${index % 3}`, someEvent({ index }));
    return (await exportOf(source)).lines;
  };
  const into = async (store: EventStore, lines: readonly string[]) =>
    importOf(store, lines).then(
      () => "imported",
      (error: Error) => error.message,
    );

  test("writes a long gap in few appends", async () => {
    const source = memoryEventStore();
    await beginLog(source);
    const many = Array.from({ length: 5_000 }, () => someEvent({}));
    await append(source, "storage-w", ...many);
    await source.truncateBefore("storage-w", 4_999);
    const { store, remove } = emptyStore();
    let appends = 0;
    const counting = Object.assign(Object.create(store) as EventStore, {
      append: (...call: Parameters<EventStore["append"]>) => {
        appends += 1;
        return store.append(...call);
      },
    });
    expect(await importOf(counting, (await exportOf(source)).lines)).toMatchObject({
      events: 2,
      missing: 4_999,
    });
    expect(appends).toBeLessThan(20);
    expect((await snapshotOf(store, ["storage-w"])).views).toEqual(
      (await snapshotOf(source, ["storage-w"])).views,
    );
    await remove();
  });

  test("refuses anything cut short, changed, reordered or not an export, before it writes anything", async () => {
    const lines = await exported();
    const store = memoryEventStore();
    const [first = "", second = "", ...others] = lines;
    expect(await into(store, lines.slice(0, -1))).toContain("cut short");
    expect(await into(store, lines.slice(0, -2))).toContain("cut short");
    expect(await into(store, [first, second.replace("Happened", "happened"), ...others.slice(1)])).toContain(
      "damaged",
    );
    expect(await into(store, [first, others[0] ?? "", second, ...others.slice(1)])).toContain("damaged");
    expect(await into(store, [first.replace('"format":1', '"format":2'), second, ...others])).toContain(
      "format 2",
    );
    expect(await into(store, [second, ...others])).toContain("not an export");
    expect(await into(store, [])).toContain("empty");
    expect(await store.head()).toBe(LOG_START);
  });

  test("refuses forged lines by their number and member, and writes nothing", async () => {
    const lines = (await exported()).slice(0, -1);
    const events = lines.filter((line) => line.startsWith('{"stream"')).length;
    const missing = lines.reduce((sum, line) => {
      const { from = 0, through = -1 } = JSON.parse(line).missing ?? {};
      return sum + through - from + 1;
    }, 0);
    const ended = (parts: readonly string[], count = events) => {
      const sha256 = new Bun.CryptoHasher("sha256").update(`${parts.join("\n")}\n`).digest("hex");
      return [...parts, JSON.stringify({ end: { events: count, missing, sha256 } })];
    };
    const at = lines.findLastIndex((line) => line.startsWith('{"stream"'));
    const forged = (change: (line: string) => string) => ended(lines.with(at, change(lines[at] ?? "")));
    const deep = `${"[".repeat(300_000)}${"]".repeat(300_000)}`;
    const store = memoryEventStore();
    const place = `line ${at + 1} of the export: `;
    for (const [change, message] of [
      [() => "null", "it is no JSON object"],
      [(line) => line.slice(0, -1), "it is no JSON object"],
      [(line) => line.replace(/"revision":\d+/, '"revision":-1'), "revision is missing or wrong"],
      [(line) => line.replace(/"id":"[^"]+"/, '"id":"x"'), "id is missing or wrong"],
      [(line) => line.replace(/"metadata":.*/, '"metadata":[]}'), "metadata is missing or wrong"],
      [
        (line) => line.replace(/"stream":"[^"]+"/, '"stream":"a\\u0000b"'),
        "no log of Postledger holds such an event",
      ],
      [
        (line) => line.replace(/"type":"[^"]+"/, '"type":"$metadata"'),
        "no log of Postledger holds such an event",
      ],
      [(line) => `${line}\r`, "no export writes it in this way"],
      [(line) => line.replace("{", '{"type":"x",'), "no export writes it in this way"],
      [(line) => line.replace('"metadata":{', `"metadata":{"deep":${deep},`), "nested too deeply"],
      [
        (line) => line.replace('"metadata":{', `"metadata":{"x":"${"x".repeat(2_000_000)}",`),
        "more than the 1000000 bytes",
      ],
    ] as readonly (readonly [(line: string) => string, string])[]) {
      const refusal = await into(store, forged(change));
      expect(refusal).toStartWith(place);
      expect(refusal).toContain(message);
    }
    const sha256 = "0";
    expect(
      await into(store, ended([...lines, JSON.stringify({ end: { events: 0, missing: 0, sha256 } })])),
    ).toContain(`line ${lines.length + 1} of the export: it is damaged: an end before the end`);
    expect(await into(store, ended(lines, 1_000))).toContain(`has ${events} events, and says 1000`);
    expect(await store.head()).toBe(LOG_START);
  });

  test("refuses an export that lacks more than a log can lose, names the line, and writes nothing", async () => {
    const lines = (await exported()).slice(0, -1);
    const sealed = (...parts: readonly string[]) => {
      const sha256 = new Bun.CryptoHasher("sha256").update(`${parts.join("\n")}\n`).digest("hex");
      return [...parts, JSON.stringify({ end: { events: 7, missing: 1, sha256 } })];
    };
    const range = (stream: string, from: number, through: number) =>
      JSON.stringify({ missing: { stream, from, through } });
    const store = memoryEventStore();
    const huge = sealed(...lines, range("email-9", 0, 5), range("email-8", 0, Number.MAX_SAFE_INTEGER - 1));
    expect(await into(store, huge)).toMatch(
      new RegExp(
        `^line ${lines.length + 2} of the export says that ${Number.MAX_SAFE_INTEGER} revisions of "email-8"`,
      ),
    );
    const many = sealed(...lines, ...Array.from({ length: 300 }, (_, n) => range(`email-x${n}`, 0, 9_999)));
    expect(await into(store, many)).toMatch(
      /3000000 in all, but a log of 7 events can have lost at most 1000070/,
    );
    expect(await into(store, sealed(...lines, range("email-9", 5, 3)))).toContain(
      `line ${lines.length + 1} `,
    );
    expect(await store.head()).toBe(LOG_START);
  });

  test("refuses a store that is not empty, or holds this log already, or the beginning of another", async () => {
    const [lines, others] = [await exported(), await exported()];
    const used = memoryEventStore();
    await append(used, "email-9", someEvent());
    expect(await into(used, lines)).toContain("not empty");
    const store = memoryEventStore();
    expect(await into(crashingStore(store, 4), lines)).toContain("killed by the test");
    expect(await into(store, others)).toContain("another export");
    expect(await into(store, lines)).toBe("imported");
    expect(await into(store, lines)).toContain("not empty");
  });

  test("notices a store that did not keep the order", async () => {
    const lines = await exported();
    const store = memoryEventStore();
    let held: (() => void) | null = null;
    const swappingStore = Object.assign(Object.create(store) as EventStore, {
      async append(...call: Parameters<EventStore["append"]>) {
        const [stream] = call;
        if (stream === "email-0" && held === null) {
          await new Promise<void>((resolve) => {
            held = resolve;
          });
        }
        const result = await store.append(...call);
        if (stream === "email-1") held?.();
        return result;
      },
    });
    expect(await into(swappingStore, lines)).toContain("did not keep the order");
    // And it stays so: what is there is not what comes first in the export.
    expect(await into(store, lines)).toContain("is not that of the export");
  });

  test("notices a store that returns something else than it was given", async () => {
    const lines = await exported();
    const store = memoryEventStore();
    const forging = Object.assign(Object.create(store) as EventStore, {
      append: (...[stream, events, ...rest]: Parameters<EventStore["append"]>) => {
        const forged = events.map((event) =>
          stream === "email-2" ? { ...event, data: { index: 99 } } : event,
        );
        return store.append(stream, forged, ...rest);
      },
    });
    expect(await into(forging, lines)).toContain("is not that of the export");
  });
});
