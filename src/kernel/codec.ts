import type { Static, TObject } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

/** Schemas of a noun's events by type name: the names are the storage format and never change. */
export type EventSchemas = Readonly<Record<string, TObject>>;

/** The union of a noun's events, each `{ type, data }`. */
export type EventOf<Schemas extends EventSchemas> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: Static<Schemas[Type]> };
}[keyof Schemas & string];

/** What a store hands over: an event's type and its data, JSON or compressed JSON. */
export interface StoredEvent {
  readonly type: string;
  readonly data: object | Uint8Array;
}

/** An event that this version cannot read: written by a newer one, or damaged. Stops whoever reads it. */
export class UnreadableEventError extends Error {
  override readonly name = "UnreadableEventError";
  constructor(
    readonly eventType: string,
    reason: string,
  ) {
    super(`event ${eventType} cannot be read: ${reason}`);
  }
}

/** Validates events at the edge of the store, so that `evolve` and `apply` see only what they know. */
export interface Codec<Event> {
  /** The type names that this codec knows. */
  readonly types: readonly string[];
  /** The event as its noun knows it. Throws {@link UnreadableEventError}. */
  decode(stored: StoredEvent): Event;
}

/** JSON longer than this is compressed when it is stored: below it the saving does not pay for the work. */
export const COMPRESS_ABOVE_BYTES = 4_096;

/** The data of an event as stored: JSON, or zstd-compressed JSON where its `bytes` make that pay. */
export function encodeData(data: object, bytes: number): object | Uint8Array {
  return bytes <= COMPRESS_ABOVE_BYTES ? data : Bun.zstdCompressSync(JSON.stringify(data), { level: 1 });
}

/** The data of an event as JSON, decompressed where it is stored so. Throws {@link UnreadableEventError}. */
export function plainData(stored: StoredEvent): unknown {
  if (!(stored.data instanceof Uint8Array)) return stored.data;
  try {
    return JSON.parse(new TextDecoder().decode(Bun.zstdDecompressSync(stored.data)));
  } catch {
    // The cause is left out: a parser's message repeats what it has read.
    throw new UnreadableEventError(stored.type, "its data is damaged");
  }
}

/** Builds the codec of one noun from its schemas; checks are compiled once. */
export function makeCodec<const Schemas extends EventSchemas>(schemas: Schemas): Codec<EventOf<Schemas>> {
  const checks = new Map<string, TypeCheck<TObject>>(
    Object.entries(schemas).map(([type, schema]) => [type, TypeCompiler.Compile(schema)]),
  );
  return {
    types: [...checks.keys()],
    decode(stored) {
      const check = checks.get(stored.type);
      if (!check) throw new UnreadableEventError(stored.type, "its type is unknown to this version");
      const data = plainData(stored);
      if (!check.Check(data)) {
        const first = check.Errors(data).First();
        throw new UnreadableEventError(stored.type, `${first?.path ?? "/"} ${first?.message ?? ""}`);
      }
      return { type: stored.type, data } as EventOf<Schemas>;
    },
  };
}
