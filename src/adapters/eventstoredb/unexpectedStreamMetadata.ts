import type { EventStoreDBClient } from "@eventstore/db-client";
import { LOG_START, type LogBatch, type LogFilter, type StoreFault } from "../../ports/eventStore.ts";
import type { LogReading } from "./read/allSubscription.ts";
import { SYSTEM_PREFIX } from "./read/logFilters.ts";
import { readLog } from "./read/readLog.ts";
import { METADATA_STREAM, membersOf, ownStream } from "./truncate.ts";

/** The most faults to report. */
const FAULTS_REPORTED_MAX = 1_000;
/** The type of a link to an event of another stream. It takes a revision, but readers of the log never see it. */
const LINK = "$>";
/** Holds the server's default access rights. It has no events until somebody changes them. */
const SETTINGS_STREAM = "$settings";
const DETAIL_CHARS_MAX = 200;
/** The one member of a stream's metadata that we write. */
const TRUNCATE_BEFORE = "$tb";

interface OwnStreamReading extends Pick<LogReading, "signal"> {
  /** Whether a stream is ours, and not another application's on the same server. */
  readonly isOwnStream: (stream: string) => boolean;
}

/**
 * Settings of our streams that we never make: limits and access rights in their metadata, other default access rights,
 * and links among their events. The log's own check also reports the events that these hide.
 */
export async function unexpectedStreamMetadata(
  client: EventStoreDBClient,
  { signal, isOwnStream }: OwnStreamReading,
  timeoutMs: number,
): Promise<readonly StoreFault[]> {
  const read = (filter: LogFilter) => readLog(client, { signal, from: LOG_START, filter }, timeoutMs);
  const described = (metadataOf: string): string | null => {
    const stream = ownStream(metadataOf);
    return stream !== null && isOwnStream(stream) ? stream : null;
  };
  const metadata = new Map<string, string>();
  let hasSettings = false;
  // Filter by stream, because the server accepts events of any type there.
  for await (const { events } of read({ streamPrefixes: [METADATA_STREAM, SETTINGS_STREAM] })) {
    for (const { stream, data } of events) {
      if (stream === SETTINGS_STREAM) hasSettings = true;
      else noteMetadata(metadata, described(stream), data);
    }
  }
  const links = await linkFaults(read({ types: [LINK] }), isOwnStream);
  const bounds = [...metadata].map(([stream, members]): StoreFault => {
    const detail = `the server's metadata has ${members}, which Postledger never sets`;
    return { kind: "changed", stream: null, revision: null, object: `metadata of ${stream}`, detail };
  });
  return [...(hasSettings ? [SETTINGS_FAULT] : []), ...bounds, ...links].slice(0, FAULTS_REPORTED_MAX);
}

/** Keeps only the last metadata of a stream, so settings that were put right are no longer reported. */
function noteMetadata(metadata: Map<string, string>, stream: string | null, data: object): void {
  if (stream === null) return;
  const members = Object.keys(membersOf(data)).filter((name) => name !== TRUNCATE_BEFORE);
  if (members.length === 0) metadata.delete(stream);
  else if (metadata.size < FAULTS_REPORTED_MAX)
    metadata.set(stream, members.join(", ").slice(0, DETAIL_CHARS_MAX));
}

const SETTINGS_FAULT: StoreFault = {
  ...{ kind: "changed", stream: null, revision: null, object: SETTINGS_STREAM },
  detail: "the server's default access rights were changed: others may write to the log",
};

async function linkFaults(
  batches: AsyncIterable<LogBatch>,
  isOwnStream: (stream: string) => boolean,
): Promise<readonly StoreFault[]> {
  const detail = "it is a link to an event of another stream";
  const faults: StoreFault[] = [];
  for await (const { events } of batches) {
    for (const { stream, revision } of events) {
      // The server's own streams are full of links.
      if (stream.startsWith(SYSTEM_PREFIX) || !isOwnStream(stream)) continue;
      if (faults.length < FAULTS_REPORTED_MAX)
        faults.push({ kind: "inserted", stream, revision, object: null, detail });
    }
  }
  return faults;
}
