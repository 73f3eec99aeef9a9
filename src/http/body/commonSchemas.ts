import {
  FormatRegistry,
  Kind,
  type ObjectOptions,
  type SchemaOptions,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { FILE_BYTES_MAX } from "../../domain/attachment/fileSizeLimit.ts";
import { isUuid } from "../../kernel/ids.ts";
import { SHOWN_NAME_CHARACTERS_MAX } from "../../kernel/text/displayNameFault.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { codePoints } from "../../kernel/text/textLength.ts";

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

/** A string whose length is counted in code points, as JSON Schema does; TypeBox counts UTF-16 units. */
export function Text(options: TextOptions): TUnsafe<string> {
  return Type.Unsafe<string>({ [Kind]: "Text", type: "string", ...options } as unknown as TSchema);
}

/** A string of any length. */
export function FreeText(description: string) {
  return Type.String({ description });
}

/** The rule of `displayNameFaults`, for the document. */
export const SHOWN_NAME_RULE = "No control characters, and none that cannot be seen.";

/** A name that people see. */
export function ShownName(purpose?: string): TUnsafe<string> {
  const description = purpose === undefined ? SHOWN_NAME_RULE : `${purpose} ${SHOWN_NAME_RULE}`;
  return Text({ minLength: 1, maxLength: SHOWN_NAME_CHARACTERS_MAX, description });
}

/** An object with these members only. */
export function Closed<Properties extends TProperties>(properties: Properties, options: ObjectOptions = {}) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** One of these strings. */
export function OneOf<const Value extends string>(values: readonly Value[], options: SchemaOptions = {}) {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  );
}

/** One of these named schemas, told apart by a member that has another constant in each. */
export function Discriminated<Schemas extends TObject[]>(
  propertyName: string,
  schemas: [...Schemas],
  options: SchemaOptions = {},
) {
  const mapping = Object.fromEntries(
    schemas.map(({ $id, properties }) => [properties[propertyName]?.const, `#/components/schemas/${$id}`]),
  );
  return Type.Union(schemas, { discriminator: { propertyName, mapping }, ...options });
}

export function Nullable<Schema extends TSchema>(schema: Schema, options: SchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** A number of things. */
export function Count(description?: string) {
  return Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) });
}

/** RFC 3339, for answers: requests are not checked with it. */
export function Time(description: string) {
  return Type.String({ format: "date-time", description });
}

/** The keyword for how the document describes a query value, since all query values are text. */
export const DESCRIBED_AS = "describedAs";

/** A whole number in a query. */
export function WholeNumberText(pattern: string, { description, ...range }: WholeNumber) {
  return Type.String({ pattern, description, [DESCRIBED_AS]: { type: "integer", ...range } });
}

/** One of these strings, or several with commas between, in a query. */
export function ListText(values: readonly string[], description: string) {
  const item = `(?:${values.join("|")})`;
  const described = { type: "array", minItems: 1, items: { type: "string", enum: values } };
  return Type.String({ pattern: `^${item}(?:,${item})*$`, description, [DESCRIBED_AS]: described });
}

/** The parameters of a query that {@link ListText} describes. */
export function listParametersOf({ properties }: TObject): readonly string[] {
  return Object.keys(properties).filter((name) => properties[name]?.[DESCRIBED_AS]?.type === "array");
}

/** Texts by name in a query, such as `metadata[order]=4711`. A name has at least one character. */
export function NamedTexts<Value extends TSchema>(
  value: Value,
  { nameCharactersMax, ...options }: NamedTextsOptions,
) {
  const propertyNames = { minLength: 1, maxLength: nameCharactersMax };
  return Type.Record(AnyName, value, { ...options, propertyNames });
}

/** The parameters of a query that {@link NamedTexts} describes, and the most characters that a name within each has. */
export function namedParametersOf({ properties }: TObject): ReadonlyMap<string, number> {
  const named = Object.entries(properties).filter(([, { type }]) => type === "object");
  return new Map(named.map(([name, { propertyNames }]) => [name, Number(propertyNames.maxLength)]));
}

/** A time in a query. The code that reads it checks it, and can say more precisely what is wrong. */
export function TimeText(description: string) {
  return Type.String({ description, [DESCRIBED_AS]: { type: "string", format: "date-time" } });
}

interface NamedTextsOptions {
  readonly description: string;
  readonly nameCharactersMax: number;
  readonly maxProperties: number;
}

interface WholeNumber {
  readonly description: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly default?: number;
}

export const DateTime = Type.String({ format: "date-time" });

export const Uuid = Type.String({ format: "uuid" });

export function Id(description: string) {
  return Type.String({ format: "uuid", description });
}

/** Spec: Limits. */
export const FILENAME_CHARACTERS_MAX = 255;

/** The titles of the two forms of an element of `attachments`. */
export const UploadId = Type.String({ format: "uuid", title: "the id of an upload" });

/** Any member name. TypeBox's own pattern stops at a line break and leaves the value under such a name unchecked. */
export const AnyName = Type.String({ pattern: "^[\\s\\S]*$" });

/** A file inside a request. */
export const DirectAttachment = Closed(
  {
    filename: Text({
      minLength: 1,
      maxLength: FILENAME_CHARACTERS_MAX,
      description: "Carries a supported extension.",
    }),
    content_type: Type.String({ description: "The supported MIME type of the extension and the content." }),
    content: Type.String({
      description: `Standard Base64 of at most ${grouped(FILE_BYTES_MAX)} bytes; no data URL.`,
    }),
  },
  {
    title: "a file sent inline",
    examples: [{ filename: "note.txt", content_type: "text/plain", content: "VGhhbmsgeW91Lgo=" }],
  },
);

export const NoQuery = Closed({});

type Widened<Value> = Value extends string
  ? string
  : Value extends readonly (infer Item)[]
    ? readonly Widened<Item>[]
    : Value extends object
      ? {
          readonly [Name in keyof Value]:
            | Widened<Value[Name]>
            | (object extends Pick<Value, Name> ? undefined : never);
        }
      : Value;

/**
 * The type for building an answer: the same members, with enum strings widened to string, because rows carry no
 * literal types. Tests check every answer against its schema.
 */
export type ResponseOf<Schema extends TSchema> = Widened<Static<Schema>>;
