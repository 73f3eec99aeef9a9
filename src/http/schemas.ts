import {
  FormatRegistry,
  Kind,
  type Static,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { ADDRESS_CHARACTERS_MAX } from "../kernel/address.ts";
import { isUuid } from "../kernel/ids.ts";
import { codePoints } from "../kernel/text.ts";

interface TextOptions {
  readonly minLength?: number;
  readonly maxLength: number;
  readonly description?: string;
}

TypeRegistry.Set<TextOptions>("Text", ({ minLength = 0, maxLength }, value) => {
  if (typeof value !== "string") return false;
  if (value.length >= minLength * 2 && value.length <= maxLength) return true;
  const length = codePoints(value);
  return length >= minLength && length <= maxLength;
});

FormatRegistry.Set("uuid", isUuid);

/** A string whose length is counted in code points, as JSON Schema and the contract do; TypeBox counts UTF-16 units. */
export function Text(options: TextOptions): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...options } as unknown as TSchema);
}

export const Uuid = Type.String({ format: "uuid" });

/** Any member name: TypeBox's own pattern stops at a line break, and lets the value under such a name go unchecked. */
export const AnyName = Type.String({ pattern: "^[\\s\\S]*$" });

const DirectAttachment = Type.Object(
  { filename: Type.String(), content_type: Type.String(), content: Type.String() },
  { additionalProperties: false },
);

/** The send operation's body (spec: Email request). Rules that span fields are in `http/sendRequest.ts`. */
export const SendEmailBody = Type.Object(
  {
    from: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "A verified Sending Address." }),
    to: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "Exactly one recipient." }),
    reply_to: Type.Optional(Text({ maxLength: ADDRESS_CHARACTERS_MAX })),
    subject: Type.Optional(Text({ minLength: 1, maxLength: 998 })),
    html: Type.Optional(Text({ maxLength: 500_000 })),
    text: Type.Optional(Text({ maxLength: 200_000 })),
    template_id: Type.Optional(Uuid),
    template_version_id: Type.Optional(Uuid),
    variables: Type.Optional(Type.Record(AnyName, Type.Unknown())),
    metadata: Type.Optional(
      Type.Record(AnyName, Type.Union([Text({ maxLength: 500 }), Type.Number(), Type.Boolean()])),
    ),
    attachments: Type.Optional(Type.Array(Type.Union([Uuid, DirectAttachment]))),
  },
  { additionalProperties: false },
);
export type SendEmailBody = Static<typeof SendEmailBody>;

export const DateTime = Type.String({ format: "date-time" });

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export const Limit = Type.String({ pattern: "^([1-9][0-9]?|100)$", description: "1 to 100." });
export const Cursor = Type.String({ description: "`next_cursor` of the page before." });

const Status = Type.Union(
  (["queued", "sending", "deferred", "sent", "bounced", "failed", "suppressed", "canceled"] as const).map(
    (status) => Type.Literal(status),
  ),
);

export const ListEmailsQuery = Type.Object(
  {
    idempotency_key: Type.Optional(Type.String()),
    status: Type.Optional(Status),
    from: Type.Optional(Type.String()),
    to: Type.Optional(Type.String()),
    created_from: Type.Optional(Type.String({ description: "RFC 3339; included." })),
    created_before: Type.Optional(Type.String({ description: "RFC 3339; not included." })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type ListEmailsQuery = Static<typeof ListEmailsQuery>;

export const NoQuery = Type.Object({}, { additionalProperties: false });

export const RegisterWebhookBody = Type.Object(
  {
    url: Type.String(),
    description: Type.Optional(Type.Union([Text({ maxLength: 500 }), Type.Null()])),
    event_types: Type.Optional(
      Type.Union([Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), Type.Null()]),
    ),
  },
  { additionalProperties: false },
);

export const ListWebhooksQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
