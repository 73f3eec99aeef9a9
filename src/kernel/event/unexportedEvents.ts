/**
 * Stands in the place of an event that was erased or cut off: an import writes it so that revisions agree with those of
 * the log that it came from, and cuts it off again at once. Some stores show it in the whole log until they are
 * scavenged.
 */
export const EVENT_ERASED = "EventErased";

/** The stream in which a store notes that a log is being imported into it. */
export const IMPORT_STREAM = "import";

/** The stream in which services note, on a store that others can work on, that they work on its log. */
export const SERVICES_STREAM = "services";

/**
 * Whether an event is one of the log's own. What an import leaves in a store, and which services work there, is about
 * that store: exports and seals leave it out.
 */
export function isLogEvent({ stream, type }: { readonly stream: string; readonly type: string }): boolean {
  return stream !== IMPORT_STREAM && stream !== SERVICES_STREAM && type !== EVENT_ERASED;
}
