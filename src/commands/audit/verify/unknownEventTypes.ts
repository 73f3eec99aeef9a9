import { CODEC_OF_STREAMS } from "../../../domain/allEventCodecs.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";

/** A category, a hyphen, and ids or keyed hashes in plain ASCII. */
const NAME = /^([a-z]+)(?:-[A-Za-z0-9_-]{1,200})?$/;

const TYPES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  CODEC_OF_STREAMS.map(([name, { types }]) => [name, new Set(types)]),
);

/** Why Postledger cannot have written this event, by its stream name and type alone; null if it may have. */
export function unknownEvent({ stream, type }: Pick<RecordedEvent, "stream" | "type">): string | null {
  const category = NAME.exec(stream)?.[1];
  const types = TYPES.get(category === stream ? stream : `${category}-`);
  if (types === undefined) return "Postledger writes no stream of such a name, as far as this release knows";
  return types.has(type) ? null : `this release writes no ${JSON.stringify(type)} in such a stream`;
}
