import { type Static, Type } from "@sinclair/typebox";
import { ERASURE_STATUSES } from "../../domain/erasure/events.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, pageSchema, Text, Uuid } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

export const RequestErasureBody = Type.Object(
  {
    address: Text({
      maxLength: ADDRESS_CHARACTERS_MAX,
      description: "One bare address: the person's. It is not kept; the request holds a keyed hash of it.",
    }),
  },
  { additionalProperties: false, examples: [{ address: "ana@example.com" }] },
);

export const ListErasuresQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
export type ListErasuresQuery = Static<typeof ListErasuresQuery>;

/** What no request can reach, and why it is so. */
export const NOT_REACHED = [
  {
    what: "backups",
    detail:
      "Copies of the log, the content or the outbox that were made before. Restoring one brings it all back: ask again then.",
  },
  {
    what: "relay",
    detail: "What the relay and the recipient's own server were handed, and what their logs say.",
  },
  { what: "webhook_endpoints", detail: "What endpoints were told before." },
  {
    what: "mentions",
    detail:
      "Messages to others that name the person: as reply_to, or in their subject, text, variables or metadata.",
  },
  { what: "senders", detail: "The address as a sending address of the workspace." },
  { what: "later_mail", detail: "Mail that was accepted for the address after the request." },
] as const;

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const Report = Type.Object(
  {
    messages_erased: Count("Messages whose content this request has erased."),
    messages_canceled: Count("Those of them that waited, and were canceled."),
    messages_erased_before: Count("Messages whose content was gone already."),
    messages_with_files: Count("Erased messages that had files: the bytes went with the content."),
    outbox_messages: Count("Erased messages that had been written to an outbox: the files were removed."),
    uploads_erased: Count("Uploads that nobody else was sent: deleted, their names erased."),
    uploads_kept: Type.Array(Uuid, {
      description: "Uploads that others were sent as well. Delete them if they are the person's.",
    }),
    suppressions_erased: Count(
      "1 when the address of a suppression was erased. Who was suppressed stays so: a keyed hash is kept.",
    ),
    remains: Nullable(
      Type.Array(Type.String(), {
        description:
          "What may still hold bytes on the service's own disks, a sentence each; empty when nothing does. Null before `completed`.",
      }),
    ),
    copies: Nullable(
      Type.Array(
        Type.Object(
          { kind: Type.Union([Type.Literal("backup"), Type.Literal("export")]), taken_at: DateTime },
          { additionalProperties: false },
        ),
        {
          description:
            "Copies of the log that the operator took before, by Postledger's own commands: what was erased is still in them. Null before `completed`.",
        },
      ),
    ),
    not_reached: Type.Array(
      Type.Object({ what: Type.String(), detail: Type.String() }, { additionalProperties: false }),
      { description: "What no request reaches: the same in every report." },
    ),
  },
  { additionalProperties: false },
);

const Erasure = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("erasure"),
    status: Type.Union(
      ERASURE_STATUSES.map((status) => Type.Literal(status)),
      {
        description:
          "`requested`: at work; `applied`: nothing can be read of it through the service any more; `completed`: the disks were gone over too.",
      },
    ),
    created_at: DateTime,
    completed_at: Nullable(DateTime),
    report: Nullable(Report),
  },
  {
    $id: "Erasure",
    additionalProperties: false,
    description: "A request to erase a person. It does not say whom.",
  },
);

const tag = "Erasure";

export const erasureOperations = {
  requestErasure: {
    summary: "Erase a person",
    description:
      "Everything of the person with this address that the workspace has at this moment: the content and files of all " +
      "messages to the address, uploads that went to nobody else, address and note of a suppression. Messages that wait " +
      "are canceled; one that is being delivered is erased when that ends. Suppressions keep holding, Idempotency-Keys " +
      "keep answering. Addresses are compared as suppressions are.",
    tag,
    query: NoQuery,
    body: RequestErasureBody,
    success: { status: 202, schema: Erasure },
    problems: [],
  },
  listErasures: {
    summary: "List requests to erase a person",
    description: "Newest first.",
    tag,
    query: ListErasuresQuery,
    success: { status: 200, schema: pageSchema(Erasure) },
    problems: ["INVALID_REQUEST"],
  },
  getErasure: {
    summary: "Read a request and its report",
    tag,
    query: NoQuery,
    success: { status: 200, schema: Erasure },
    problems: ["NOT_FOUND"],
  },
} satisfies Operations;
