import type { ExpectedRevision } from "../../../ports/eventStore.ts";
import type { PreparedAppend, PreparedEvent } from "./appendTransaction.ts";

/**
 * Appends as one flat list of values, which costs a quarter of what objects cost between threads. Each append is its
 * stream, its expected revision and its number of events, followed by each event's id, type, metadata and data.
 */
export type EncodedAppendBatch = readonly (string | number | Uint8Array)[];

/** Encodes `appends`, without any other members they have. */
export function encodeAppendBatch(appends: readonly PreparedAppend[]): EncodedAppendBatch {
  const values: (string | number | Uint8Array)[] = [];
  for (const { stream, expected, events } of appends) {
    values.push(stream, expected, events.length);
    for (const { id, type, metadata, data } of events) values.push(id, type, metadata, data);
  }
  return values;
}

export function decodeAppendBatch(batch: EncodedAppendBatch): readonly PreparedAppend[] {
  const values = batch.values();
  const next = <Value>() => values.next().value as Value;
  const nextEvent = (): PreparedEvent => ({ id: next(), type: next(), metadata: next(), data: next() });
  const appends: PreparedAppend[] = [];
  for (let stream = next<string | undefined>(); stream !== undefined; stream = next()) {
    const expected = next<ExpectedRevision>();
    appends.push({ stream, expected, events: Array.from({ length: next<number>() }, nextEvent) });
  }
  return appends;
}
