/**
 * The placeholder for an erased or truncated event. An import writes it so that revisions match those of the original
 * log, and truncates it again at once. Some stores show it in the whole log until they are scavenged.
 */
export const EVENT_ERASED = "EventErased";

/** The stream in which an import into this store is recorded. */
export const IMPORT_STREAM = "import";

/** The stream in which services that share a store record that they work on its log. */
export const SERVICES_STREAM = "services";

/**
 * Whether an event belongs to the log itself. Events about imports and running services are about the store, so exports
 * and seals leave them out.
 */
export function isLogEvent({ stream, type }: { readonly stream: string; readonly type: string }): boolean {
  return stream !== IMPORT_STREAM && stream !== SERVICES_STREAM && type !== EVENT_ERASED;
}
