import { FormatRegistry, Kind, type TSchema, type TUnsafe, Type, TypeRegistry } from "@sinclair/typebox";
import { isUuid } from "../../kernel/ids.ts";
import { codePoints } from "../../kernel/text/text.ts";
import { inWords } from "./validation.ts";

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

/** Spec: Limits. */
export const FILENAME_CHARACTERS_MAX = 255;

export const Uuid = Type.String({ format: "uuid" });

/** What the two forms of an element of `attachments` are called. */
export const UploadId = Type.String({ format: "uuid", title: "the id of an upload" });

/** Any member name: TypeBox's own pattern stops at a line break, and lets the value under such a name go unchecked. */
export const AnyName = Type.String({ pattern: "^[\\s\\S]*$" });

/** A file that comes with a request (spec: Direct attachment). */
export const DirectAttachment = Type.Object(
  {
    filename: Text({
      minLength: 1,
      maxLength: FILENAME_CHARACTERS_MAX,
      description: "Carries a supported extension.",
    }),
    content_type: Type.String({ description: "The supported MIME type of the extension and the content." }),
    content: Type.String({ description: "Standard Base64 of at most 5,000,000 bytes; no data URL." }),
  },
  {
    additionalProperties: false,
    title: "a file sent inline",
    examples: [{ filename: "note.txt", content_type: "text/plain", content: "VGhhbmsgeW91Lgo=" }],
  },
);

/** RFC 3339, in answers: requests are not checked against it. */
export const DateTime = Type.String({ format: "date-time" });

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export const Limit = inWords(
  "must be a whole number from 1 to 100",
  Type.String({ pattern: "^([1-9][0-9]?|100)$", description: "1 to 100." }),
);
export const Cursor = Type.String({ description: "`next_cursor` of the page before." });

export const NoQuery = Type.Object({}, { additionalProperties: false });

/** One page of a list: its items, and where the next page begins. */
export function pageSchema<Item extends TSchema>(item: Item) {
  return Type.Object(
    {
      data: Type.Array(item, { maxItems: 100 }),
      next_cursor: Type.Union([Type.String(), Type.Null()], {
        description:
          "Null on the last page. A page may hold fewer items than `limit`, or none, and not be the last: one request looks at a bounded number of items, however few of them a filter matches.",
      }),
    },
    { additionalProperties: false },
  );
}
