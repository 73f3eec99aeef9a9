import { Type } from "@sinclair/typebox";
import type { ErasureView } from "../../commands/erasure/erasureRequests.ts";
import { ERASURE_STATUSES } from "../../domain/erasure/events.ts";
import type { Erasure as ErasureState } from "../../domain/erasure/state.ts";
import { Closed, Count, DateTime, FreeText, Nullable, OneOf, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

/** What no request can reach, and why. */
const NOT_REACHED = [
  {
    what: "backups",
    detail:
      "Copies of the log, the content or the outbox that were made before. Restoring one brings it all back: ask again then.",
  },
  {
    what: "relay",
    detail: "What the relay and the recipient's own server were handed, and what their logs say.",
  },
  {
    what: "outboxes",
    detail:
      "`.eml` files that were moved out of an outbox. Those in an outbox of earlier settings, if it cannot be used. Those of a stopped instance, until it starts again.",
  },
  { what: "webhook_endpoints", detail: "What endpoints were sent before." },
  {
    what: "mentions",
    detail:
      "Messages to others that name the person: as reply_to, or in their names, subject, text, variables or metadata.",
  },
  {
    what: "hashes",
    detail:
      "In the log: a keyed hash of the address, with each message and with this request, and keyed hashes of a message's tags and metadata. Lists no longer find erased messages by the address or by metadata.",
  },
  { what: "senders", detail: "The address as a sending address of the workspace." },
  { what: "later_mail", detail: "Mail that was accepted for the address after the request." },
] as const;

const Report = Closed({
  messages_erased: Count("Messages whose content this request has erased."),
  messages_canceled: Count("Those of them that waited, and were canceled."),
  messages_erased_before: Count(
    "Messages whose content was gone already, unless an earlier request had erased the person: nothing finds those by the address any more.",
  ),
  messages_with_files: Count("Erased messages that had files: the bytes went with the content."),
  outbox_messages: Count(
    "Erased messages that had been written to an outbox. Each instance removes the files that it wrote.",
  ),
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
    Type.Array(Closed({ kind: OneOf(["backup", "export"]), taken_at: DateTime }), {
      description:
        "Copies of the log that the operator took before, by Postledger's own commands: what was erased is still in them. Null before `completed`.",
    }),
  ),
  not_reached: Type.Array(Closed({ what: Type.String(), detail: Type.String() }), {
    description: "What no request reaches: the same in every report.",
  }),
});

const wholeReportJson = jsonOfSchema(Report);

function reportJson({ counts, remains, copies }: ErasureState) {
  // The location of copies is only for the operator: the command line shows it.
  const known = copies?.map(({ kind, at }) => ({ kind, taken_at: at })) ?? null;
  return counts && wholeReportJson({ ...counts, remains, copies: known, notReached: NOT_REACHED });
}

export const Erasure = Closed(
  {
    id: Uuid,
    object: Type.Literal("erasure"),
    status: OneOf(ERASURE_STATUSES, {
      description:
        "`requested`: at work; `applied`: none of it can be read through the service any more; `completed`: the disks were cleaned too.",
    }),
    reference: Nullable(FreeText("What it was filed under; null: nothing was given.")),
    created_at: DateTime,
    completed_at: Nullable(DateTime),
    report: Nullable(Report),
  },
  { $id: "Erasure", description: "A request to erase a person. It does not say whom." },
);

const wholeErasureJson = jsonOfSchema(Erasure);

export function erasureJson({ id, erasure, requestedAt, completedAt }: ErasureView) {
  const report = reportJson(erasure);
  const { status, reference } = erasure;
  return wholeErasureJson({ id, status, reference, createdAt: requestedAt, completedAt, report });
}
