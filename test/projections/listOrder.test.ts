import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { apiKeys, listApiKeys } from "../../projections/apiKeys.ts";
import { attachments, listAttachments } from "../../projections/attachments.ts";
import { emails } from "../../projections/emails/emails.ts";
import { emailsToRecipient, listEmails } from "../../projections/emails/queries.ts";
import { erasures, listErasures } from "../../projections/erasures.ts";
import type { KeysetCursor } from "../../projections/keysetPagination.ts";
import type { Projection } from "../../projections/projection.ts";
import { listSenders, senders } from "../../projections/senders.ts";
import { listSuppressions, suppressions } from "../../projections/suppressions.ts";
import { listTemplates, templates } from "../../projections/templates.ts";
import { listWebhookDeliveries } from "../../projections/webhookDeliveries/queries.ts";
import { webhookDeliveries } from "../../projections/webhookDeliveries/webhookDeliveries.ts";
import { listWebhookEndpoints, webhookEndpoints } from "../../projections/webhookEndpoints.ts";
import { ACCEPTANCE_REVISION } from "../../src/domain/email/events.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase, ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const START = Date.parse("2030-01-01T12:00:00Z");
const ENDPOINT = "99999999-9999-4999-8999-999999999999";

/** One item of a list: its id, and when it was made. */
interface Item {
  readonly id: string;
  readonly at: string;
}

type Page = { readonly after?: KeysetCursor; readonly limit: number };
type Event = Pick<ProjectedEvent, "type" | "stream" | "data"> & Partial<ProjectedEvent>;

interface ListCase {
  readonly name: string;
  readonly projection: Projection;
  /** Told first. */
  readonly given?: readonly Event[];
  created(item: Item): Event;
  list(db: ReadDatabase, page: Page): readonly KeysetCursor[];
  /** The events that remove an item, for lists that can lose items. */
  gone?(item: Item): Event;
}

const accepted = {
  senderId: "s",
  recipientHash: "r",
  fingerprint: "f",
  contentEventId: "c",
  contentDigest: "d",
};
const upload = {
  filename: "a.pdf",
  contentType: "application/pdf",
  bytes: 5,
  sha256: "5",
  expiresAt: rfc3339(START),
};
const endpoint = {
  workspaceId: "w",
  url: "https://a.example/",
  description: null,
  eventTypes: null,
  sealedSecret: "x",
};
const recipient = (id: string) => ({ workspaceId: "w", recipientHash: id, reason: "manual" });

const cases: readonly ListCase[] = [
  {
    name: "API keys",
    projection: apiKeys,
    created: ({ id }) => ({
      type: "ApiKeyIssued",
      stream: `apikey-${id}`,
      data: { workspaceId: "w", name: "n", hash: "h", scopes: [] },
    }),
    list: (db, page) => listApiKeys(db, { workspaceId: "w", ...page }),
  },
  {
    name: "templates",
    projection: templates,
    created: ({ id, at }) => ({
      type: "TemplateCreated",
      stream: `template-${id}`,
      data: { workspaceId: "w", name: "n", at },
    }),
    list: (db, page) => listTemplates(db, "w", page),
  },
  {
    name: "uploads",
    projection: attachments,
    created: ({ id, at }) => ({
      type: "AttachmentUploaded",
      stream: `attachment-${id}`,
      data: { workspaceId: "w", ...upload, uploadedAt: at },
    }),
    list: (db, page) => listAttachments(db, { workspaceId: "w", ...page }).rows,
  },
  {
    name: "suppressions",
    projection: suppressions,
    created: ({ id }) => ({
      type: "RecipientSuppressed",
      id,
      stream: `suppression-${id}`,
      data: recipient(id),
    }),
    gone: ({ id }) => ({ type: "RecipientUnsuppressed", stream: `suppression-${id}`, data: recipient(id) }),
    list: (db, page) => listSuppressions(db, { workspaceId: "w", ...page }).rows,
  },
  {
    name: "senders",
    projection: senders,
    created: ({ id }) => ({
      type: "SenderAdded",
      stream: `sender-${id}`,
      data: { workspaceId: "w", address: "a@example.com" },
    }),
    list: (db, page) => listSenders(db, { workspaceId: "w", ...page }),
  },
  {
    name: "erasures",
    projection: erasures,
    created: ({ id }) => ({
      type: "ErasureRequested",
      stream: `erasure-${id}`,
      data: { workspaceId: "w", recipientHash: "r", actor: "a" },
    }),
    list: (db, page) => listErasures(db, { workspaceId: "w", ...page }),
  },
  {
    name: "messages",
    projection: emails,
    created: ({ id, at }) => ({
      type: "EmailQueued",
      stream: `email-${id}`,
      revision: ACCEPTANCE_REVISION,
      data: { workspaceId: "w", ...accepted, contentBytes: 1, acceptedAt: at },
    }),
    list: (db, page) => listEmails(db, { ownerId: "w", ...page }).rows,
  },
  {
    name: "webhook endpoints",
    projection: webhookEndpoints,
    created: ({ id }) => ({
      type: "WebhookEndpointRegistered",
      stream: "webhooks-w",
      data: { ...endpoint, endpointId: id },
    }),
    gone: ({ id }) => ({
      type: "WebhookEndpointDeleted",
      stream: "webhooks-w",
      data: { workspaceId: "w", endpointId: id },
    }),
    list: (db, page) => listWebhookEndpoints(db, "w", page),
  },
  {
    name: "webhook deliveries",
    projection: webhookDeliveries,
    given: [
      {
        type: "WebhookEndpointRegistered",
        stream: "webhooks-w",
        data: { ...endpoint, endpointId: ENDPOINT },
      },
    ],
    created: ({ id }) => ({
      type: "WebhookTestRequested",
      id,
      stream: "webhooks-w",
      data: { workspaceId: "w", endpointId: ENDPOINT },
    }),
    list: (db, page) =>
      listWebhookDeliveries(db, { endpointId: ENDPOINT, ...page }).rows.map((row) => ({
        ...row,
        shown: row.eventId,
      })),
  },
];

/** Ids in no order, some of them made in the same millisecond. */
const items = fc
  .uniqueArray(fc.record({ id: fc.uuid(), wait: fc.nat(1) }), { maxLength: 12, selector: ({ id }) => id })
  .map((created) => {
    let at = START;
    return created.map(({ id, wait }): Item => {
      at += wait;
      return { id, at: rfc3339(at) };
    });
  });

function withRows(list: ListCase, created: readonly Item[], check: (db: ReadDatabaseFile) => void): void {
  const db = emptyReadModel(list.projection);
  try {
    for (const event of list.given ?? []) applyEvent(db, list, event, rfc3339(START));
    for (const item of created) applyEvent(db, list, list.created(item), item.at);
    check(db);
  } finally {
    db.close();
  }
}

function applyEvent(db: ReadDatabaseFile, { projection }: ListCase, event: Event, at: string): void {
  projection.apply({ revision: 0, id: crypto.randomUUID(), metadata: { at }, ...event }, db);
}

/** The id that the test gave: a delivery has one of its own, made of its event's. */
function given(row: KeysetCursor): string {
  return "shown" in row ? String(row.shown) : row.id;
}

describe.each(cases)("a list of $name", (list) => {
  test("is newest first, and of one millisecond in the order of the log, on pages of any length (property)", () => {
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 5 }), (created, limit) => {
        withRows(list, created, (db) => {
          const found: KeysetCursor[] = [];
          for (;;) {
            const last = found.at(-1);
            const page = list.list(db, { limit, ...(last ? { after: last } : {}) });
            found.push(...page);
            if (page.length < limit) break;
          }
          expect(found.map(given)).toEqual(created.map(({ id }) => id).toReversed());
        });
      }),
      { numRuns: 50 },
    );
  });

  test("skips nothing when the last item of a page is removed before the next page is requested", () => {
    const { gone } = list;
    if (gone === undefined) return;
    const created = Array.from({ length: 5 }, () => ({ id: crypto.randomUUID(), at: rfc3339(START) }));
    withRows(list, created, (db) => {
      const [first, last] = list.list(db, { limit: 2 });
      if (first === undefined || last === undefined) throw new Error("the page does not have two items");
      for (const { id } of [first, last])
        applyEvent(db, list, gone({ id, at: rfc3339(START) }), rfc3339(START));
      const next = list.list(db, { limit: 5, after: last });
      expect(next.map(given)).toEqual(
        created
          .slice(0, 3)
          .map(({ id }) => id)
          .toReversed(),
      );
    });
  });

  test("is found by an index, without sorting", () => {
    withRows(list, [], (db) => {
      const queries: string[] = [];
      const seen: ReadDatabase = {
        run: () => {},
        get: () => undefined,
        all(sql, ...values) {
          queries.push(...db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
          return [];
        },
      };
      list.list(seen, { limit: 5, after: { createdAt: rfc3339(START), id: ENDPOINT } });
      expect(queries[0]).toMatch(/USING INDEX \w+_by_time \((workspace_id|endpoint_id)=\? AND created_at</);
      expect(queries.join()).not.toMatch(/TEMP B-TREE|SCAN \w+(?! USING)/);
    });
  });
});

test("a walk through messages uses the same order, oldest first", () => {
  const list = cases.find(({ projection }) => projection === emails);
  if (list === undefined) throw new Error("messages have no list");
  fc.assert(
    fc.property(items, (created) => {
      withRows(list, created, (db) => {
        const found: string[] = [];
        let after: KeysetCursor | null = null;
        do {
          const page = emailsToRecipient(db, { workspaceId: "w", recipientHash: "r" }, after, 2);
          found.push(...page.found.map(({ id }) => id));
          after = page.next;
        } while (after !== null);
        expect(found).toEqual(created.map(({ id }) => id));
      });
    }),
    { numRuns: 50 },
  );
});
