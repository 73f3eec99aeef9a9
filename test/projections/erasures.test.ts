import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { uploadsSentTo } from "../../projections/attachmentUse.ts";
import { emailsToRecipient, oldContent, workspacesRetaining } from "../../projections/emails/queries.ts";
import { listErasures, openErasures } from "../../projections/erasures.ts";
import { projections } from "../../projections/index.ts";
import type { Projection } from "../../projections/projection.ts";
import { suppressionAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { eraseSuppressedAddress } from "../../src/commands/erasure/eraseSuppressedAddress.ts";
import { toNewEvents, transact } from "../../src/commands/transact.ts";
import { suppress, unsuppress } from "../../src/domain/suppression/decisions.ts";
import type { WorkspaceCommandContext } from "../../src/kernel/event/commandContext.ts";
import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import { type EventStore, LOG_START, type RecordedEvent } from "../../src/ports/eventStore.ts";
import type { ReadDatabaseFile, SqlRow } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";

const WORKSPACE = "w1";
const at = (seconds: number): WorkspaceCommandContext => {
  const time = Date.parse("2030-01-01T00:00:00Z") + seconds * 1_000;
  return { at: time, correlationId: "test", actor: "test", workspaceId: WORKSPACE };
};

async function readWholeLog(store: EventStore): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = [];
  for await (const { events } of store.readAll(LOG_START, {})) all.push(...events);
  return all;
}

function built(projection: Projection, events: readonly RecordedEvent[]): ReadDatabaseFile {
  const db = emptyReadModel(projection);
  for (const event of events) if (projection.events.includes(event.type)) projection.apply(event, db);
  return db;
}

/** The rows of all tables of a read model that has seen these events. */
function rowsOf(projection: Projection, events: readonly RecordedEvent[]): readonly SqlRow[] {
  const db = built(projection, events);
  try {
    return projection.tables.flatMap(({ name, key }) =>
      db.all(`SELECT * FROM ${name} ORDER BY ${key.join(", ")}`).map((row) => ({ ...row, table: name })),
    );
  } finally {
    db.close();
  }
}

/** What may happen around people's suppressions: to whom, or which event is told to which endpoint, and how it went. */
type Action =
  | { readonly kind: "suppress" | "unsuppress" | "erase"; readonly person: string }
  | { readonly kind: "register" | "disable"; readonly endpoint: string }
  | { readonly kind: "deliver"; readonly endpoint: string; readonly which: number; readonly ok: boolean };

const person = fc.constantFrom("ana", "ben");
const endpoint = fc.constantFrom("e1", "e2");
const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("suppress" as const), person }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("unsuppress" as const), person }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("erase" as const), person }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom("register" as const, "disable" as const), endpoint }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("deliver" as const),
        endpoint,
        which: fc.nat(20),
        ok: fc.boolean(),
      }),
    },
  ),
  { maxLength: 40, size: "max" },
);

/** A log as a service writes it, and all of its events, including those truncated since. */
class World {
  readonly seen = new Map<string, RecordedEvent>();
  private readonly registered = new Set<string>();

  constructor(private readonly store: EventStore) {}

  async apply(action: Action, seconds: number): Promise<void> {
    if ("person" in action) await this.suppression(action.kind, action.person, seconds);
    else if (action.kind === "deliver") await this.deliver(action, seconds);
    else await this.endpoint(action.kind, action.endpoint, seconds);
    for (const event of await readWholeLog(this.store))
      this.seen.set(`${event.stream} ${event.revision}`, event);
  }

  private async suppression(kind: "suppress" | "unsuppress" | "erase", recipient: string, seconds: number) {
    if (kind === "erase") {
      // What a follower has seen when the events are truncated: not yet the erasure itself.
      const watched: EventStore = {
        ...this.store,
        truncateBefore: async (stream, revision) => {
          for (const event of await readWholeLog(this.store))
            this.seen.set(`${event.stream} ${event.revision}`, event);
          await this.store.truncateBefore(stream, revision);
        },
      };
      await eraseSuppressedAddress(watched, recipient, "request", at(seconds));
      return;
    }
    const facts = { workspaceId: WORKSPACE, recipientHash: recipient, reason: "manual" };
    const decide = kind === "suppress" ? suppress : null;
    await transact(
      this.store,
      suppressionAggregate.of(recipient),
      (state) => (decide ? decide(state, { address: `${recipient}@example.com` }, facts) : unsuppress(state)),
      at(seconds),
    );
  }

  private async append(stream: string, type: string, data: object, seconds: number) {
    const last = await this.store.lastRevision(stream);
    await this.store.append(stream, toNewEvents([{ type, data }], at(seconds)), last ?? "noStream");
  }

  private async endpoint(kind: "register" | "disable", endpointId: string, seconds: number) {
    const stream = `webhooks-${WORKSPACE}`;
    if (kind === "register" && !this.registered.has(endpointId)) {
      this.registered.add(endpointId);
      const data = {
        endpointId,
        workspaceId: WORKSPACE,
        url: `https://${endpointId}.example.com`,
        description: null,
      };
      const more = { eventTypes: null, sealedSecret: "none" };
      await this.append(stream, "WebhookEndpointRegistered", { ...data, ...more }, seconds);
    } else if (this.registered.has(endpointId)) {
      const [type, data] =
        kind === "disable"
          ? (["WebhookEndpointDisabled", { endpointId, reason: "failing" }] as const)
          : (["WebhookEndpointEnabled", { endpointId }] as const);
      await this.append(stream, type, data, seconds);
    }
  }

  private async deliver(
    { endpoint: endpointId, which, ok }: Extract<Action, { kind: "deliver" }>,
    seconds: number,
  ) {
    const recipientEvents = [...this.seen.values()].filter(({ type }) => type.startsWith("Recipient"));
    const event = recipientEvents[which % Math.max(1, recipientEvents.length)];
    if (event === undefined) return;
    const stream = `webhookdelivery-${webhookDeliveryId(event.id, endpointId)}`;
    const origin = {
      workspaceId: WORKSPACE,
      endpointId,
      eventId: event.id,
      eventStream: event.stream,
      eventRevision: event.revision,
      eventType: "suppression.created",
    };
    const attempt = Math.floor(((await this.store.lastRevision(stream)) ?? -2) / 2) + 2;
    await this.append(stream, "WebhookAttemptStarted", { origin, attempt, worker: "w", leaseMs: 1 }, seconds);
    const next = new Date(at(seconds + 60).at).toISOString();
    if (ok) await this.append(stream, "WebhookDelivered", { attempt, durationMs: 1 }, seconds);
    else {
      const failed = { attempt, durationMs: 1, reason: "timeout", attemptBurnt: true, nextAttemptAt: next };
      await this.append(stream, "WebhookAttemptFailed", failed, seconds);
    }
  }
}

describe("read models of a log from which people were erased", () => {
  test("have the same rows as after a rebuild, whatever came before (property)", async () => {
    let cuts = 0;
    await fc.assert(
      fc.asyncProperty(actions, async (all) => {
        const store = memoryEventStore();
        const world = new World(store);
        for (const [index, action] of all.entries()) await world.apply(action, index);
        const left = await readWholeLog(store);
        const seen = [...world.seen.values()].sort((a, b) => (a.position < b.position ? -1 : 1));
        cuts += seen.some(
          ({ type, data }) =>
            type === "SuppressionAddressErased" && "cutsHistory" in data && data.cutsHistory,
        )
          ? 1
          : 0;
        for (const projection of projections)
          expect(rowsOf(projection, left)).toEqual(rowsOf(projection, seen));
      }),
      { numRuns: 150 },
    );
    expect(cuts).toBeGreaterThan(5);
  }, 60_000);
});

describe("erasures", () => {
  const erasures = projections.find(({ name }) => name === "erasures") as Projection;
  const event = (id: string, type: string, data: object, seconds: number): RecordedEvent => {
    const [made] = toNewEvents([{ type, data }], at(seconds));
    if (made === undefined) throw new Error("one input gave no output");
    return { ...made, stream: `erasure-${id}`, revision: 0, position: LOG_START };
  };
  const requested = (id: string, seconds: number, workspaceId = WORKSPACE) =>
    event(id, "ErasureRequested", { workspaceId, recipientHash: "h" }, seconds);
  const counts = {
    messagesErased: 0,
    messagesCanceled: 0,
    messagesErasedBefore: 0,
    messagesWithFiles: 0,
    outboxMessages: 0,
    uploadsErased: 0,
    uploadsKept: [],
    suppressionsErased: 0,
  };

  test("workspaces take turns, however many requests one of them has", () => {
    const many = Array.from({ length: 300 }, (_, n) => requested(`a${n}`, n, "wa"));
    const db = built(erasures, [...many, requested("b", 301, "wb"), requested("c", 302, "wc")]);
    const turnsOf = (after: string, limit: number, without: readonly string[] = []) => [
      ...new Set(openErasures(db, after, without, limit).map(({ workspaceId }) => workspaceId)),
    ];
    expect(turnsOf("", 100)).toEqual(["wa", "wb", "wc"]);
    expect(turnsOf("wa", 2)).toEqual(["wb", "wc"]);
    expect(turnsOf("wb", 100)).toEqual(["wc", "wa", "wb"]);
    expect(turnsOf("wc", 100)).toEqual(["wa", "wb", "wc"]);
    expect(turnsOf("wb", 100, ["c"])).toEqual(["wa", "wb"]);
    expect(turnsOf("zz", 100)).toEqual(["wa", "wb", "wc"]);
    expect(openErasures(db, "", [], 100).filter(({ workspaceId }) => workspaceId === "wa")).toHaveLength(8);
    db.close();
  });

  test("are open until they are completed, untouched ones first", () => {
    const db = built(erasures, [
      requested("a", 1),
      requested("b", 2),
      requested("c", 3, "w2"),
      event("a", "ErasureApplied", counts, 4),
      event("c", "ErasureApplied", counts, 5),
      event("c", "ErasureCompleted", { remains: [] }, 6),
    ]);
    expect(openErasures(db, "", [], 10).map(({ id }) => id)).toEqual(["b", "a"]);
    expect(openErasures(db, "", ["b"], 10)).toEqual([{ id: "a", workspaceId: WORKSPACE }]);
    expect(openErasures(db, "", [], 1)).toHaveLength(1);
    const list = (query: object) => listErasures(db, { workspaceId: WORKSPACE, limit: 10, ...query });
    expect(list({}).map(({ id }) => id)).toEqual(["b", "a"]);
    const [newest] = list({ limit: 1 });
    expect(newest && list({ after: newest }).map(({ id }) => id)).toEqual(["a"]);
    db.close();
  });
});

describe("messages", () => {
  const emails = projections.find(({ name }) => name === "emails") as Projection;
  const attachmentUse = projections.find(({ name }) => name === "attachment-use") as Projection;
  const accepted = (id: string, seconds: number, more: object = {}): RecordedEvent => {
    const acceptedAt = new Date(at(seconds).at).toISOString();
    const hashes = { fingerprint: "f", contentEventId: "c", contentDigest: "d", contentBytes: 1 };
    const data = {
      workspaceId: WORKSPACE,
      senderId: "s",
      recipientHash: "r1",
      acceptedAt,
      ...hashes,
      ...more,
    };
    const [made] = toNewEvents([{ type: "EmailQueued", data }], at(seconds));
    if (made === undefined) throw new Error("one input gave no output");
    return { ...made, stream: `email-${id}`, revision: 1, position: LOG_START };
  };
  const later = (id: string, type: string, data: object): RecordedEvent => {
    const [made] = toNewEvents([{ type, data }], at(99));
    if (made === undefined) throw new Error("one input gave no output");
    return { ...made, stream: `email-${id}`, revision: 2, position: LOG_START };
  };

  test("are found by their recipient, page after page, and by nobody else's", () => {
    const all = Array.from({ length: 25 }, (_, index) =>
      accepted(`m${index}`, Math.floor(index / 3), {
        recipientHash: `r${index % 4}`,
        workspaceId: `w${index % 2}`,
      }),
    );
    const db = built(emails, all);
    const found: string[] = [];
    let after: Parameters<typeof emailsToRecipient>[2] = null;
    do {
      const page = emailsToRecipient(db, { workspaceId: "w1", recipientHash: "r3" }, after, 2);
      found.push(...page.found.map(({ id }) => id));
      after = page.next;
    } while (after !== null);
    expect(found.sort()).toEqual(["m11", "m15", "m19", "m23", "m3", "m7"]);
    db.close();
  });

  test("have content to erase once they have ended, until it is erased", () => {
    const sent = (id: string) => later(id, "EmailSent", { attempt: 1, transport: "smtp", reply: "250" });
    const erased = (id: string) => later(id, "EmailContentErased", { reason: "retention" });
    const db = built(emails, [
      accepted("waits", 1),
      accepted("old", 2),
      sent("old"),
      accepted("gone", 3),
      sent("gone"),
      erased("gone"),
      accepted("young", 9),
      sent("young"),
      accepted("other", 1, { workspaceId: "w3" }),
      sent("other"),
    ]);
    const until = (seconds: number) => new Date(at(seconds).at).toISOString();
    expect(oldContent(db, WORKSPACE, until(5), 10)).toEqual(["old"]);
    expect(oldContent(db, WORKSPACE, until(9), 10)).toEqual(["old", "young"]);
    expect(oldContent(db, WORKSPACE, until(9), 1)).toEqual(["old"]);
    expect(workspacesRetaining(db)).toEqual([
      { ownerId: WORKSPACE, since: until(2) },
      { ownerId: "w3", since: until(1) },
    ]);
    db.close();
    const empty = built(emails, [accepted("waits", 1)]);
    expect(workspacesRetaining(empty)).toEqual([]);
    empty.close();
  });

  test("show which uploads went to a recipient, and no others", () => {
    const files = { attachmentBytes: 1, directBytes: 0, attachmentsUntil: "2030-01-02T00:00:00.000Z" };
    const db = built(attachmentUse, [
      accepted("a", 1, { ...files, uploadIds: ["u1", "u2"] }),
      accepted("b", 2, { ...files, recipientHash: "r2", uploadIds: ["u2"] }),
      accepted("c", 3, { ...files, uploadIds: ["u1"] }),
      accepted("d", 4, files),
    ]);
    expect(uploadsSentTo(db, "r1", "", 10)).toEqual([
      { id: "u1", isShared: false },
      { id: "u2", isShared: true },
    ]);
    expect(uploadsSentTo(db, "r1", "u1", 10).map(({ id }) => id)).toEqual(["u2"]);
    expect(uploadsSentTo(db, "r2", "", 10)).toEqual([{ id: "u2", isShared: true }]);
    db.close();
  });
});
