import type { EventStoreDBClient } from "@eventstore/db-client";
import { LOG_START, type StoreFault } from "../../ports/eventStore.ts";
import { type LogReading, readLog } from "./logReads.ts";
import { METADATA_CHANGED, ownStream } from "./truncate.ts";

/** Faults that are told of one by one. */
const FAULTS_TOLD_MAX = 1_000;
/** What points at an event of another stream: it takes a revision, and readers of the log do not come past it. */
const LINK = "$>";
/** What a change of the server's default access control is called. */
const SETTINGS_CHANGED = "update-default-acl";
const SYSTEM_PREFIX = "$";
/** The one member of a stream's metadata that we write. */
const TRUNCATE_BEFORE = "$tb";

/**
 * What the server was told of our streams, though never by us: bounds and access rights in their metadata, other
 * default access rights, and links among their events. What of it hides events, the log's own check names besides.
 */
export async function readFaults(
  client: EventStoreDBClient,
  reading: Pick<LogReading, "signal">,
  timeoutMs: number,
): Promise<readonly StoreFault[]> {
  const metadata = new Map<string, string>();
  const others: StoreFault[] = [];
  const filter = { types: [METADATA_CHANGED, LINK, SETTINGS_CHANGED] };
  for await (const { events } of readLog(client, { ...reading, from: LOG_START, filter }, timeoutMs)) {
    for (const { stream, revision, type, data } of events) {
      if (type !== METADATA_CHANGED) others.push(...strangerFaults(stream, revision, type));
      else noteMetadata(metadata, ownStream(stream), data);
    }
  }
  const bounds = [...metadata].map(([stream, members]): StoreFault => {
    const detail = `the server was told ${members} of it, which Postledger never does`;
    return { kind: "changed", stream: null, revision: null, object: `metadata of ${stream}`, detail };
  });
  return [...bounds, ...others].slice(0, FAULTS_TOLD_MAX);
}

/** The last word counts, so that what was put right is no fault any more. */
function noteMetadata(metadata: Map<string, string>, stream: string | null, data: object): void {
  if (stream === null) return;
  const members = Object.keys(data).filter((name) => name !== TRUNCATE_BEFORE);
  if (members.length === 0) metadata.delete(stream);
  else if (metadata.size < FAULTS_TOLD_MAX) metadata.set(stream, members.join(", "));
}

function strangerFaults(stream: string, revision: number, type: string): readonly StoreFault[] {
  if (type === SETTINGS_CHANGED) {
    const detail = "the server's default access rights were changed: others may write to the log";
    return [{ kind: "changed", stream: null, revision: null, object: stream, detail }];
  }
  // The server's own streams are full of links.
  if (stream.startsWith(SYSTEM_PREFIX)) return [];
  return [
    {
      kind: "inserted",
      stream,
      revision,
      object: null,
      detail: "it is a link to an event of another stream",
    },
  ];
}
