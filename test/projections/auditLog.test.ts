import { describe, expect, test } from "bun:test";
import { auditLog } from "../../projections/auditLog/auditLog.ts";
import { type AuditRow, listAuditLog } from "../../projections/auditLog/queries.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { readCorpus, storedOf } from "../events/goldenEvents.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const START = Date.parse("2030-01-01T12:00:00Z");

type AuditedEvent = Pick<ProjectedEvent, "type" | "stream" | "data"> & {
  readonly id?: string;
  readonly revision?: number;
  readonly actor?: string;
};

/** The rows of a log that tells these, one a second. */
function withRows(events: readonly AuditedEvent[], check: (db: ReadDatabaseFile) => void): void {
  const db = emptyReadModel(auditLog);
  try {
    events.forEach(({ actor = "cli", revision = 0, id, ...event }, second) => {
      const metadata = { at: rfc3339(START + second * 1_000), actor, correlationId: `request-${second}` };
      auditLog.apply({ id: id ?? `event-${second}`, revision, metadata, ...event }, db);
    });
    check(db);
  } finally {
    db.close();
  }
}

function entries(db: ReadDatabase, workspaceId: string | null = "w"): readonly AuditRow[] {
  return listAuditLog(db, { workspaceId, limit: 100 }).rows.toReversed();
}

const suppressed = (reason: string) => ({ workspaceId: "w", recipientHash: "h", reason });
const unsuppressed = { workspaceId: "w", recipientHash: "h" };
const issued = { workspaceId: "w", name: "shop", hash: "x", scopes: ["email:send"] };

test("entries of audited events, in every version ever written, hold no address", () => {
  withRows([], (db) => {
    for (const golden of readCorpus().goldens.values()) {
      if (!auditLog.events.includes(golden.type)) continue;
      for (const sample of golden.samples) {
        const stored = storedOf(golden, sample);
        auditLog.apply({ ...stored, ...at(golden.type), metadata: sample.metadata }, db);
      }
    }
    const rows = JSON.stringify(db.all("SELECT * FROM audit_log JOIN audited"));
    expect(rows).not.toContain("@");
    expect(db.all("SELECT DISTINCT action FROM audit_log").length).toBeGreaterThan(20);
  });
});

/** A separate place in the log. */
function at(type: string) {
  return { id: crypto.randomUUID(), stream: `${type.toLowerCase()}-${crypto.randomUUID()}`, revision: 0 };
}

describe("who did it", () => {
  test("is an API key by its name and person, the command line, a verification link or the service", () => {
    const paused = (actor: string): AuditedEvent => ({
      type: "SendingPaused",
      stream: "workspace-w",
      data: { at: rfc3339(START) },
      actor,
    });
    const actors = [
      "api-key:k1",
      "api-key:k2",
      "api-key:k3",
      "cli",
      "verification-link",
      "worker:x",
      "system",
    ];
    const keys: AuditedEvent[] = [
      { type: "ApiKeyIssued", stream: "apikey-k1", data: issued },
      { type: "ApiKeyIssued", stream: "apikey-k3", data: { ...issued, name: "mine", person: "ana" } },
      { type: "ApiKeyRenamed", stream: "apikey-k3", data: { name: "support" } },
    ];
    withRows([...keys, ...actors.map(paused)], (db) => {
      const none = { id: null, name: null, person: null };
      expect(entries(db).map(({ actor }) => actor)).toEqual([
        ...keys.map(() => ({ type: "command_line", ...none })),
        { type: "api_key", id: "k1", name: "shop", person: null },
        { type: "api_key", id: "k2", name: null, person: null },
        { type: "api_key", id: "k3", name: "support", person: "ana" },
        { type: "command_line", ...none },
        { type: "verification_link", ...none },
        { type: "system", ...none },
        { type: "system", ...none },
      ]);
    });
  });
});

describe("a new name", () => {
  const renamed = (type: string, stream: string, name: string, actor = "cli"): AuditedEvent => ({
    type,
    stream,
    data: { name },
    actor,
  });

  test("is told with the former one, under which a key that renames itself acts", () => {
    const events: readonly AuditedEvent[] = [
      { type: "ApiKeyIssued", stream: "apikey-k", data: issued },
      renamed("ApiKeyRenamed", "apikey-k", "shop 2", "api-key:k"),
      renamed("ApiKeyRenamed", "apikey-k", "shop 3", "api-key:k"),
      { type: "ApiKeyRevoked", stream: "apikey-k", data: {}, actor: "api-key:k" },
    ];
    withRows(events, (db) => {
      const [, ...later] = entries(db);
      expect(later.map(({ actor, target, details }) => [actor.name, target.label, details])).toEqual([
        ["shop", "shop 2", { previous_label: "shop" }],
        ["shop 2", "shop 3", { previous_label: "shop 2" }],
        ["shop 3", "shop 3", {}],
      ]);
    });
  });

  test("of a workspace, a template and an endpoint's host is told with the former one too", () => {
    const url = (host: string) => ({ endpointId: "p", url: `https://${host}/secret` });
    const events: readonly AuditedEvent[] = [
      { type: "WorkspaceCreated", stream: "workspace-w", data: { name: "Acme" } },
      renamed("WorkspaceRenamed", "workspace-w", "Acme Ltd"),
      {
        type: "TemplateCreated",
        stream: "template-t",
        data: { workspaceId: "w", name: "Hi", at: rfc3339(START) },
      },
      { type: "TemplateRenamed", stream: "template-t", data: { name: "Hello", at: rfc3339(START) } },
      {
        type: "WebhookEndpointRegistered",
        stream: "webhooks-w",
        data: {
          workspaceId: "w",
          ...url("a.example"),
          description: null,
          eventTypes: null,
          sealedSecret: "s",
        },
      },
      { type: "WebhookEndpointUpdated", stream: "webhooks-w", data: url("b.example") },
    ];
    withRows(events, (db) => {
      expect(entries(db).map(({ action, details }) => [action, details.previous_label])).toEqual([
        ["workspace.created", undefined],
        ["workspace.renamed", "Acme"],
        ["template.created", undefined],
        ["template.renamed", "Hi"],
        ["webhook_endpoint.registered", undefined],
        ["webhook_endpoint.updated", "a.example"],
      ]);
    });
  });
});

describe("an entry's target", () => {
  test("has its workspace and its name, even for events that hold neither", () => {
    const events: readonly AuditedEvent[] = [
      { type: "ApiKeyIssued", stream: "apikey-k", data: issued },
      { type: "ApiKeyRevoked", stream: "apikey-k", data: {} },
    ];
    withRows(events, (db) => {
      const [first, second] = entries(db);
      expect(first).toMatchObject({ action: "api_key.issued", details: { scopes: ["email:send"] } });
      expect(second).toMatchObject({
        action: "api_key.revoked",
        target: { type: "api_key", id: "k", label: "shop" },
        requestId: "request-1",
        createdAt: rfc3339(START + 1_000),
      });
    });
  });

  test("shows only host and port of an endpoint, and which fields changed", () => {
    const url = "http://localhost:4001/services/secret";
    const facts = { description: null, eventTypes: null, sealedSecret: "s" };
    const events: readonly AuditedEvent[] = [
      {
        type: "WebhookEndpointRegistered",
        stream: "webhooks-w",
        data: { endpointId: "p", workspaceId: "w", url, ...facts },
      },
      { type: "WebhookEndpointUpdated", stream: "webhooks-w", data: { endpointId: "p", eventTypes: [] } },
      { type: "WebhookEndpointUpdated", stream: "webhooks-w", data: { endpointId: "p", include: ["to"] } },
    ];
    withRows(events, (db) => {
      expect(entries(db).map(({ target: { label }, details }) => ({ label, details }))).toEqual([
        { label: "localhost:4001", details: {} },
        { label: "localhost:4001", details: { changed: ["event_types"] } },
        { label: "localhost:4001", details: { changed: ["include"] } },
      ]);
    });
  });

  test("has the same id when a suppression is added and removed; a message's bounce has no entry", () => {
    const stream = "suppression-h";
    const bounced = { ...suppressed("bounce"), emailId: "e" };
    const events: readonly AuditedEvent[] = [
      { type: "RecipientSuppressed", stream, id: "first", revision: 1, data: suppressed("manual") },
      { type: "RecipientUnsuppressed", stream, revision: 2, data: unsuppressed },
      { type: "RecipientSuppressed", stream, id: "second", revision: 4, data: bounced },
      { type: "RecipientUnsuppressed", stream, revision: 5, data: unsuppressed },
      // With another service's list.
      { type: "RecipientSuppressed", stream, id: "third", revision: 7, data: suppressed("bounce") },
    ];
    withRows(events, (db) => {
      expect(entries(db).map(({ action, target }) => `${action} ${target.id}`)).toEqual([
        "suppression.added first",
        "suppression.removed first",
        "suppression.removed second",
        "suppression.added third",
      ]);
    });
  });
});

describe("what a truncated log still shows", () => {
  const suppression = "suppression-h";
  const erased = (...revisions: readonly number[]) => revisions.map((revision) => ({ revision, leaf: "l" }));
  const cases: Readonly<
    Record<string, { readonly events: readonly AuditedEvent[]; readonly truncateAt: number }>
  > = {
    "of a suppression": {
      truncateAt: 3,
      events: [
        {
          type: "RecipientSuppressed",
          stream: suppression,
          id: "s1",
          revision: 1,
          data: suppressed("manual"),
        },
        { type: "RecipientUnsuppressed", stream: suppression, revision: 2, data: unsuppressed },
        {
          type: "RecipientSuppressed",
          stream: suppression,
          id: "s4",
          revision: 4,
          data: suppressed("manual"),
        },
        {
          type: "SuppressionAddressErased",
          stream: suppression,
          revision: 5,
          data: { ...unsuppressed, cutsHistory: true, erasureId: "e", erased: erased(0, 1, 2, 3) },
        },
        { type: "RecipientUnsuppressed", stream: suppression, revision: 6, data: unsuppressed },
      ],
    },
    "of a template": {
      truncateAt: 0,
      events: [
        {
          type: "TemplateCreated",
          stream: "template-t",
          revision: 0,
          data: { workspaceId: "w", name: "Ana", at: rfc3339(START) },
        },
        {
          type: "TemplateDeleted",
          stream: "template-t",
          revision: 1,
          data: { workspaceId: "w", at: rfc3339(START), erased: erased(0) },
        },
      ],
    },
  };

  test.each(Object.entries(cases))("%s equals what the whole log shows", (_, { events, truncateAt }) => {
    const rows = (log: readonly AuditedEvent[], from: number) => {
      let found: unknown;
      const numbered = log.map((event, index) => ({ id: `event-${index}`, ...event }));
      withRows([], (db) => {
        numbered.forEach((event, second) => {
          if ((event.revision ?? 0) <= from) return;
          const metadata = { at: rfc3339(START + second), actor: "cli", correlationId: "r" };
          auditLog.apply({ revision: 0, metadata, ...event }, db);
        });
        found = {
          entries: db.all("SELECT * FROM audit_log ORDER BY id"),
          audited: db.all("SELECT * FROM audited ORDER BY type, id"),
        };
      });
      return found;
    };
    expect(rows(events, -1)).toEqual(rows(events, truncateAt));
  });
});
