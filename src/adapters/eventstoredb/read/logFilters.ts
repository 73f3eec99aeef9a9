import {
  type AllStreamSubscription,
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  streamNameFilter,
  type Position as VendorPosition,
} from "@eventstore/db-client";
import type { LogFilter } from "../../../ports/eventStore.ts";

/** The prefix of the server's own streams and event types. */
export const SYSTEM_PREFIX = "$";

/** Settings of one subscription. */
interface FilterOptions {
  /** The server reports its position after this many records at the latest. */
  readonly searchWindow: number;
  readonly onCheckpoint: (subscription: AllStreamSubscription, position: VendorPosition) => void;
}

/**
 * The server's filter. It accepts only one kind, so we send the types if there are any, because they exclude the most;
 * as prefixes, because those need no escaping. {@link createMatcher} does the rest.
 */
export function serverFilter({ types, streamPrefixes }: LogFilter, options: FilterOptions): Filter {
  const { searchWindow: maxSearchWindow, onCheckpoint: checkpointReached } = options;
  const common = { maxSearchWindow, checkpointReached, checkpointInterval: 1 };
  if (types?.length) return eventTypeFilter({ ...common, prefixes: [...types] });
  if (streamPrefixes?.length) return streamNameFilter({ ...common, prefixes: [...streamPrefixes] });
  return excludeSystemEvents(common);
}

/** Whether an event belongs to this log, and not to another application on the same server. */
export type IsOwnEvent = (event: { readonly stream: string; readonly type: string }) => boolean;

/**
 * Whether the reader asked for an event. Events of the server's own match only if the filter names their type or their
 * stream; in such a stream, events of any type match. Who asks for types means those of this log.
 */
export function createMatcher({ types, streamPrefixes }: LogFilter, isOwn: IsOwnEvent = () => true) {
  const wanted = types && new Set(types);
  const ofServer = streamPrefixes?.filter((prefix) => prefix.startsWith(SYSTEM_PREFIX)) ?? [];
  return ({ streamId, type }: { readonly streamId: string; readonly type: string }): boolean => {
    if (ofServer.some((prefix) => streamId.startsWith(prefix))) return wanted?.has(type) ?? true;
    if (wanted ? !wanted.has(type) : type.startsWith(SYSTEM_PREFIX)) return false;
    if (wanted && !type.startsWith(SYSTEM_PREFIX) && !isOwn({ stream: streamId, type })) return false;
    if (streamId.startsWith(SYSTEM_PREFIX) && !type.startsWith(SYSTEM_PREFIX)) return false;
    return streamPrefixes?.some((prefix) => streamId.startsWith(prefix)) ?? true;
  };
}
