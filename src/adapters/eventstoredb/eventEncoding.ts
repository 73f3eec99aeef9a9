import type {
  AllStreamRecordedEvent,
  EventData,
  ResolvedEvent,
  RecordedEvent as VendorEvent,
} from "@eventstore/db-client";
import { invariant } from "../../kernel/assert.ts";
import type { JsonObject } from "../../kernel/text/json.ts";
import { APPEND_BYTES_MAX, type NewEvent, type RecordedEvent, StoreError } from "../../ports/eventStore.ts";
import { positionText } from "./positions.ts";

/**
 * Events as the vendor takes them. We serialise all of it once before anything is sent, to measure it and
 * because the vendor's call never settles when its own serialising throws. Throws `tooLarge`, and TypeError
 * for what is not JSON.
 */
export function encodeEvents(events: readonly NewEvent[]): EventData[] {
  invariant(events.length > 0, "an append has at least one event");
  let bytes = 0;
  const encoded = events.map(({ id, type, data, metadata }): EventData => {
    const metadataBytes = Buffer.from(JSON.stringify(metadata));
    // The vendor passes metadata on as it is only when its class is exactly this one.
    const plainMetadata = new Uint8Array(metadataBytes);
    bytes += plainMetadata.length;
    if (data instanceof Uint8Array) {
      bytes += data.length;
      return { id, type, contentType: "application/octet-stream", data, metadata: plainMetadata };
    }
    bytes += Buffer.byteLength(JSON.stringify(data));
    const json = data as Record<string, unknown>;
    return { id, type, contentType: "application/json", data: json, metadata: plainMetadata };
  });
  if (bytes > APPEND_BYTES_MAX) {
    throw new StoreError("tooLarge", `an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`);
  }
  return encoded;
}

/** An event of the log as the port knows it. */
export function decodeEvent(event: VendorEvent | AllStreamRecordedEvent): RecordedEvent {
  const { streamId, revision, id, type, data, metadata } = event;
  if (!event.position) throw new TypeError(`the server gives no position with event ${id}: it is too old`);
  return {
    stream: streamId,
    revision: Number(revision),
    position: positionText(event.position),
    id,
    type,
    data: data instanceof Uint8Array ? plainBytes(data) : (data as object),
    metadata: isJson(metadata) ? metadata : {},
  };
}

/** The event of a read that resolves no links: it is always there. */
export function eventOf({ event }: ResolvedEvent): VendorEvent {
  if (!event) throw new TypeError("the server answered a read with a record that has no event");
  return event;
}

function plainBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes;
}

function isJson(metadata: unknown): metadata is JsonObject {
  return typeof metadata === "object" && metadata !== null && !(metadata instanceof Uint8Array);
}
