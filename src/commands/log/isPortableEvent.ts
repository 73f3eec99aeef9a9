import { EVENT_ERASED, IMPORT_STREAM } from "../../domain/logImport/events.ts";
import { SERVICES_STREAM } from "../../domain/serviceRegistry/events.ts";
import { typesInStream } from "../../domain/streamNames.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";

const LOCAL_STREAMS: readonly string[] = [IMPORT_STREAM, SERVICES_STREAM];

/**
 * Whether an event belongs to the log itself: exports and seals hold only these. Events about imports and running
 * services are about the store, and a stream of a name that is not ours is that of another application.
 */
export function isPortableEvent({ stream, type }: Pick<RecordedEvent, "stream" | "type">): boolean {
  return isPortableStream(stream) && type !== EVENT_ERASED;
}

/** Whether a stream belongs to the log itself. */
export function isPortableStream(stream: string): boolean {
  return typesInStream(stream) !== undefined && !LOCAL_STREAMS.includes(stream);
}
