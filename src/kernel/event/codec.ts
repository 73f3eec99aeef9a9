import { zstdDecompressSync } from "node:zlib";
import type { Static, TObject } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { invariant } from "../assert.ts";

/** Schemas of the events of one aggregate by type name: the names are the storage format and never change. */
export type EventSchemas = Readonly<Record<string, TObject>>;

/** The union of the events of one aggregate, each `{ type, data }`. */
export type EventOf<Schemas extends EventSchemas> = {
  [Type in keyof Schemas & string]: { readonly type: Type; readonly data: Static<Schemas[Type]> };
}[keyof Schemas & string];

/** What a store hands over: an event's type and its data, JSON or compressed JSON. */
export interface StoredEvent {
  readonly type: string;
  readonly data: object | Uint8Array;
  /** `schema` is the version of the data; absent in what was never stored: then it is the newest. */
  readonly metadata?: { readonly schema?: unknown };
  /** Its position: reported when it cannot be read. */
  readonly stream?: string;
  readonly revision?: number;
}

/** Makes data of one version out of another's: pure, total, and into a new object. */
export type DataMapping = (data: Fields) => object;
type Fields = Readonly<Record<string, unknown>>;

/** How the data of one event type came to its schema. A type without this is at version 1. */
export interface TypeVersions {
  /** The first makes version 2 of version 1, the next version 3 of 2, and so on. The schema is of version `upcasts.length + 1`. */
  readonly upcasts: readonly DataMapping[];
  /** The version that is written, where that is not the newest: instances that cannot read the newest may still run. */
  readonly writes?: { readonly version: number; readonly downcast: DataMapping };
}

/** What a codec reads and writes of one type. `reads` is the version of `schema`; it reads all before it too. */
export interface EventFormat {
  readonly schema: TObject;
  readonly reads: number;
  readonly writes: number;
}

/** An event that this version cannot read: written by a newer one, or damaged. Stops whoever reads it. */
export class UnreadableEventError extends Error {
  override readonly name = "UnreadableEventError";
  constructor(
    { type, stream, revision }: Pick<StoredEvent, "type" | "stream" | "revision">,
    /** Why, for whoever says himself which event it is. */
    readonly reason: string,
  ) {
    const location = stream === undefined ? "" : ` (${stream}, revision ${revision})`;
    super(`event ${type}${location} cannot be read: ${reason}`);
  }
}

/** Validates and upcasts events as they are read, so that `evolve` and `apply` see the newest version only. */
export interface Codec<Event> {
  /** The type names that this codec knows. */
  readonly types: readonly string[];
  readonly formats: ReadonlyMap<string, EventFormat>;
  /** The event as its aggregate knows it, whatever version it was written in. Throws {@link UnreadableEventError}. */
  decode(stored: StoredEvent): Event;
  /** The data as it is to be stored, and its version. Data that is compressed stays so. */
  encode(event: Pick<StoredEvent, "type" | "data">): {
    readonly data: object | Uint8Array;
    readonly schema: number;
  };
}

/** The event as its codec knows it; null where it cannot be read. */
export function readableEvent<Event>(codec: Codec<Event>, stored: StoredEvent): Event | null {
  try {
    return codec.decode(stored);
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    return null;
  }
}

/** JSON longer than this is compressed when it is stored: below it the saving does not pay for the work. */
export const COMPRESS_ABOVE_BYTES = 4_096;

/** The data of an event as stored: JSON, or zstd-compressed JSON where its `bytes` make that pay. */
export function encodeData(data: object, bytes: number): object | Uint8Array {
  return bytes <= COMPRESS_ABOVE_BYTES ? data : compress(data);
}

function compress(data: object): Uint8Array {
  return Bun.zstdCompressSync(JSON.stringify(data), { level: 1 });
}

/** Far more than any event's data as JSON: whoever writes to the store past us is not to fill our memory. */
const PLAIN_BYTES_MAX = 16 * 1_024 * 1_024;

const DAMAGED = "its data is damaged";
const NEWER = "it was written by a newer version of this program: upgrade";

/** The data of an event as JSON, decompressed where it is stored so. Throws {@link UnreadableEventError}. */
export function plainData(stored: StoredEvent): unknown {
  if (!(stored.data instanceof Uint8Array)) return stored.data;
  try {
    const json = zstdDecompressSync(stored.data, { maxOutputLength: PLAIN_BYTES_MAX });
    return JSON.parse(new TextDecoder().decode(json));
  } catch {
    // The cause is left out: a parser's message repeats what it has read.
    throw new UnreadableEventError(stored, DAMAGED);
  }
}

interface Format extends EventFormat {
  /** Compiled when it is first asked for: a command of the command line meets few of the types. */
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

/** Data of an older version as the newest. What is newer than the newest is not looked into. */
function upcastData(stored: StoredEvent, { reads, upcasts }: Format, version: unknown): unknown {
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    throw new UnreadableEventError(stored, "its metadata name no version");
  }
  if (version > reads) {
    throw new UnreadableEventError(stored, `${NEWER} (its version is ${version}, this one reads ${reads})`);
  }
  const data = plainData(stored);
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new UnreadableEventError(stored, DAMAGED);
  }
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
 * Builds the codec of one aggregate from its schemas, each of the newest version of its type.
 * `versions` names the types that are not at version 1 any more.
 */
export function makeCodec<const Schemas extends EventSchemas>(
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
