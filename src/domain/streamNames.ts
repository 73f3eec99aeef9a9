import { CODEC_OF_STREAMS } from "./allEventCodecs.ts";

/** A category, a hyphen, and ids or keyed hashes in plain ASCII. */
const NAME = /^([a-z]+)(?:-[A-Za-z0-9_-]{1,200})?$/;

const TYPES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  CODEC_OF_STREAMS.map(([name, { types }]) => [name, new Set(types)]),
);

/** The event types that this program writes in a stream of such a name; undefined if it writes no such stream. */
export function typesInStream(stream: string): ReadonlySet<string> | undefined {
  const category = NAME.exec(stream)?.[1];
  return TYPES.get(category === stream ? stream : `${category}-`);
}

/** The streams that have a name of their own rather than one of a category. */
export const SINGLE_STREAMS: readonly string[] = CODEC_OF_STREAMS.map(([name]) => name).filter(
  (name) => !name.endsWith("-"),
);

/**
 * Whether this program writes events of this type in such a stream. Other applications on one EventStoreDB server have
 * event types of the same names, such as `WorkspaceCreated`, in streams of their own.
 */
export function isInOwnStream({ stream, type }: { readonly stream: string; readonly type: string }): boolean {
  return typesInStream(stream)?.has(type) ?? false;
}
