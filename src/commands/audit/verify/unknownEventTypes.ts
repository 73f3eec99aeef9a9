import { typesInStream } from "../../../domain/streamNames.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";

/** Why Postledger cannot have written this event, by its stream name and type alone; null if it may have. */
export function unknownEvent({ stream, type }: Pick<RecordedEvent, "stream" | "type">): string | null {
  const types = typesInStream(stream);
  if (types === undefined) return "Postledger writes no stream of such a name, as far as this release knows";
  return types.has(type) ? null : `this release writes no ${JSON.stringify(type)} in such a stream`;
}
