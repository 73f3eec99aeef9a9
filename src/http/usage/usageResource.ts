import { Type } from "@sinclair/typebox";
import type { BouncesRow, UsageRow } from "../../../projections/emails/usage/queries.ts";
import { Closed, Count, DateTime, FreeText, Id, Nullable, type ResponseOf } from "../body/commonSchemas.ts";
import { SenderId } from "../sender/senderResource.ts";

const Start = Type.Intersect([DateTime], { description: "When the hour or day begins." });

export const Usage = Closed(
  {
    object: Type.Literal("usage"),
    start: Start,
    sender_id: Type.Optional(Type.Intersect([SenderId], { description: "With `group_by=sender`." })),
    template_id: Type.Optional(Nullable(Id("With `group_by=template`; null: of no template."))),
    tag: Type.Optional(
      Nullable(FreeText("With `group_by=tag`; null once the content of its newest message is erased.")),
    ),
    accepted: Count("Messages accepted, suppressed ones as well."),
    sent: Count("Messages that the relay took."),
    bounced: Count(
      "Messages that the recipient's side permanently refused. If the relay had taken them, they count as `sent` too.",
    ),
    failed: Count("Messages that could not be delivered for another reason."),
    suppressed: Count("Messages that ended because their recipient is suppressed."),
    canceled: Count("Messages that were canceled."),
    delivered: Count("Messages that are in the mailbox, as somebody reported. They count as `sent` too."),
    complained: Count("Messages that their recipient reported. They count as `sent` too."),
  },
  { $id: "Usage" },
);

export function usageJson(
  { start, group, ...counts }: UsageRow,
  groupBy?: "sender" | "template" | "tag",
  tagNames: ReadonlyMap<string, string> = new Map(),
): ResponseOf<typeof Usage> {
  return {
    object: "usage",
    start,
    ...(groupBy === "sender" ? { sender_id: group } : {}),
    ...(groupBy === "template" ? { template_id: group || null } : {}),
    ...(groupBy === "tag" ? { tag: tagNames.get(group) ?? null } : {}),
    ...counts,
  };
}

export const Bounces = Closed(
  {
    object: Type.Literal("bounces"),
    start: Start,
    domain: Nullable(FreeText("In lower-case ASCII; null where the log does not keep which it was.")),
    bounced: Count("Messages that bounced there."),
  },
  { $id: "Bounces" },
);

export function bouncesJson({ start, group, bounced }: BouncesRow): ResponseOf<typeof Bounces> {
  return { object: "bounces", start, domain: group || null, bounced };
}
