import { EVENT_ERASED, IMPORT_STREAM } from "../../domain/logImport/events.ts";
import { SERVICES_STREAM } from "../../domain/serviceRegistry/events.ts";

/**
 * Whether an event belongs to the log itself. Events about imports and running services are about the store, so exports
 * and seals leave them out.
 */
export function isLogEvent({ stream, type }: { readonly stream: string; readonly type: string }): boolean {
  return stream !== IMPORT_STREAM && stream !== SERVICES_STREAM && type !== EVENT_ERASED;
}
