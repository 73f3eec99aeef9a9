import { zstdDecompressSync } from "node:zlib";
import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { invariant } from "../assert.ts";
import { isObject } from "../text/json.ts";

/** The schemas of one aggregate's events by type name. The names are the storage format and never change. */
export type EventSchemas = Readonly<Record<string, TObject>>;

/** Values of the schema, or null. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** The union of the events of one aggregate, each `{ type, data }`. */
export type EventOf<Schemas extends EventSchemas> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: Static<Schemas[Type]> };
}[keyof Schemas & string];

/** An event from a store: its type and its data, which is JSON or compressed JSON. */
export interface StoredEvent {
  readonly type: string;
  readonly data: object | Uint8Array;
  /** `schema` is the version of the data; absent in events that were never stored, which have the newest. */
  readonly metadata?: { readonly schema?: unknown };
  /** Where it is, for the report when it cannot be read. */
  readonly stream?: string;
  readonly revision?: number;
}

/** Converts data of one version to another. It is pure and total, and returns a new object. */
export type DataMapping = (data: Fields) => object;
type Fields = Readonly<Record<string, unknown>>;

/** The versions of one event type's data. A type without this is at version 1. */
export interface TypeVersions {
  /** The first converts version 1 to 2, the next 2 to 3, and so on. The schema's version is `upcasts.length + 1`. */
  readonly upcasts: readonly DataMapping[];
  /** The version to write, if not the newest: instances that cannot read the newest may still be running. */
  readonly writes?: { readonly version: number; readonly downcast: DataMapping };
}

/** The versions of one type that a codec handles. `reads` is the version of `schema`; it reads all earlier ones too. */
export interface EventFormat {
  readonly schema: TObject;
  readonly reads: number;
  readonly writes: number;
}

/** This program cannot read an event, because a newer version wrote it or it is damaged. Stops its reader. */
export class UnreadableEventError extends Error {
  override readonly name = "UnreadableEventError";
  constructor(
    { type, stream, revision }: Pick<StoredEvent, "type" | "stream" | "revision">,
    /** Why, for callers that name the event themselves. */
    readonly reason: string,
  ) {
    const location = stream === undefined ? "" : ` (${stream}, revision ${revision})`;
    super(`event ${type}${location} cannot be read: ${reason}`);
  }
}

/** Validates and upcasts events when they are read, so `evolve` and `apply` see only the newest version. */
export interface Codec<Event> {
  /** The type names that this codec knows. */
  readonly types: readonly string[];
  readonly formats: ReadonlyMap<string, EventFormat>;
  /** The event in its newest version, whatever version it was written in. Throws {@link UnreadableEventError}. */
  decode(stored: StoredEvent): Event;
  /** The data to store, and its version. Compressed data stays compressed. */
  encode(event: Pick<StoredEvent, "type" | "data">): {
    readonly data: object | Uint8Array;
    readonly schema: number;
  };
}

/** The decoded event; null if it cannot be read. */
export function readableEvent<Event>(codec: Codec<Event>, stored: StoredEvent): Event | null {
  try {
    return codec.decode(stored);
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    return null;
  }
}

/** Longer JSON is compressed when it is stored. Below this the saving is not worth the work. */
export const COMPRESS_ABOVE_BYTES = 4_096;

/** The data of an event for storing: JSON, or zstd-compressed JSON if it has enough `bytes`. */
export function encodeData(
  data: object,
  bytes = Buffer.byteLength(JSON.stringify(data)),
): object | Uint8Array {
  return bytes <= COMPRESS_ABOVE_BYTES ? data : compress(data);
}

function compress(data: object): Uint8Array {
  return Bun.zstdCompressSync(JSON.stringify(data), { level: 1 });
}

/** Far more than any event's data as JSON, so that nobody who writes to the store directly can fill our memory. */
const PLAIN_BYTES_MAX = 16 * 1_024 * 1_024;

const DAMAGED = "its data is damaged";
const NEWER = "it was written by a newer version of this program: upgrade";

/** The data of an event as JSON, decompressed if necessary. Throws {@link UnreadableEventError}. */
export function plainData(stored: StoredEvent): unknown {
  if (!(stored.data instanceof Uint8Array)) return stored.data;
  try {
    const json = zstdDecompressSync(stored.data, { maxOutputLength: PLAIN_BYTES_MAX });
    return JSON.parse(new TextDecoder().decode(json));
  } catch {
    // Without the cause, because a parser's message quotes its input.
    throw new UnreadableEventError(stored, DAMAGED);
  }
}

interface Format extends EventFormat {
  /** Compiled at its first use, because a command of the command line needs few of the types. */
  check(): TypeCheck<TObject>;
  readonly upcasts: readonly DataMapping[];
  readonly downcast: DataMapping | undefined;
}

function formatOf(type: string, schema: TObject, { upcasts, writes }: TypeVersions): Format {
  const reads = upcasts.length + 1;
  const version = writes?.version ?? reads;
  invariant(
    version >= 1 && version <= reads && (writes === undefined || version < reads),
    `${type} is written in a version before the newest that is read`,
  );
  let compiled: TypeCheck<TObject> | null = null;
  const check = () => {
    compiled ??= TypeCompiler.Compile(schema);
    return compiled;
  };
  return { schema, reads, writes: version, check, upcasts, downcast: writes?.downcast };
}

/** Converts data of an older version to the newest. Refuses data of a version newer than that. */
function upcastData(stored: StoredEvent, { reads, upcasts }: Format, version: unknown): unknown {
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    throw new UnreadableEventError(stored, "its metadata has no version");
  }
  if (version > reads) {
    throw new UnreadableEventError(stored, `${NEWER} (its version is ${version}, this one reads ${reads})`);
  }
  const data = plainData(stored);
  if (!isObject(data)) throw new UnreadableEventError(stored, DAMAGED);
  try {
    let upcastedData: object = data;
    for (const upcast of upcasts.slice(version - 1)) upcastedData = upcast(upcastedData as Fields);
    return upcastedData;
  } catch {
    throw new UnreadableEventError(stored, DAMAGED);
  }
}

function downcastData(stored: StoredEvent, downcast: DataMapping): object | Uint8Array {
  const data = downcast(plainData(stored) as Fields);
  return stored.data instanceof Uint8Array ? compress(data) : data;
}

/**
 * Builds the codec of one aggregate from its schemas, each for the newest version of its type.
 * `versions` has the types that are past version 1.
 */
export function createCodec<const Schemas extends EventSchemas>(
  schemas: Schemas,
  versions: { readonly [Type in keyof Schemas & string]?: TypeVersions } = {},
): Codec<EventOf<Schemas>> {
  const formats = new Map<string, Format>(
    Object.entries(schemas).map(([type, schema]) => {
      return [type, formatOf(type, schema, versions[type] ?? { upcasts: [] })];
    }),
  );
  return {
    types: [...formats.keys()],
    formats,
    decode(stored) {
      const format = formats.get(stored.type);
      if (!format) throw new UnreadableEventError(stored, `its type is unknown: ${NEWER}`);
      const version = stored.metadata?.schema;
      const isNewest = version === format.reads || version === undefined;
      const data = isNewest ? plainData(stored) : upcastData(stored, format, version);
      if (!format.check().Check(data)) {
        const { path = "/", message = "" } = format.check().Errors(data).First() ?? {};
        throw new UnreadableEventError(
          stored,
          `its data is not of version ${format.reads}: ${path} ${message}`,
        );
      }
      return { type: stored.type, data } as EventOf<Schemas>;
    },
    encode(event) {
      const format = formats.get(event.type);
      const data = format?.downcast ? downcastData(event, format.downcast) : event.data;
      return { data, schema: format?.writes ?? 1 };
    },
  };
}
