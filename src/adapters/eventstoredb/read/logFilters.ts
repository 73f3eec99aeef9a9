import {
  type AllStreamSubscription,
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  streamNameFilter,
  type Position as VendorPosition,
} from "@eventstore/db-client";
import type { LogFilter } from "../../../ports/eventStore.ts";

/** Streams and event types of the server's own begin with this. */
export const SYSTEM_PREFIX = "$";

/** What one subscription asks of the server. */
export interface FilterOptions {
  /** The server reports its position after this many records at the latest. */
  readonly searchWindow: number;
  readonly onCheckpoint: (subscription: AllStreamSubscription, position: VendorPosition) => void;
}

/**
 * The server takes one filter. It gets the types when there are any, because they spare the most; as
 * prefixes, because those need no escaping. {@link makeMatcher} does what is left.
 */
export function serverFilter({ types, streamPrefixes }: LogFilter, options: FilterOptions): Filter {
  const { searchWindow: maxSearchWindow, onCheckpoint: checkpointReached } = options;
  const common = { maxSearchWindow, checkpointReached, checkpointInterval: 1 };
  if (types?.length) return eventTypeFilter({ ...common, prefixes: [...types] });
  if (streamPrefixes?.length) return streamNameFilter({ ...common, prefixes: [...streamPrefixes] });
  return excludeSystemEvents(common);
}

/**
 * Whether an event is one that the reader asked for: one of the server's own only by the name of its type, or by that
 * of its stream, where events of any type count.
 */
export function makeMatcher({ types, streamPrefixes }: LogFilter) {
  const wanted = types && new Set(types);
  const ofServer = streamPrefixes?.filter((prefix) => prefix.startsWith(SYSTEM_PREFIX)) ?? [];
  return ({ streamId, type }: { readonly streamId: string; readonly type: string }): boolean => {
    if (ofServer.some((prefix) => streamId.startsWith(prefix))) return wanted?.has(type) ?? true;
    if (wanted ? !wanted.has(type) : type.startsWith(SYSTEM_PREFIX)) return false;
    if (streamId.startsWith(SYSTEM_PREFIX) && !type.startsWith(SYSTEM_PREFIX)) return false;
    return streamPrefixes?.some((prefix) => streamId.startsWith(prefix)) ?? true;
  };
}
