import type {
  AllStreamRecordedEvent,
  ResolvedEvent,
  RecordedEvent as VendorEvent,
} from "@eventstore/db-client";
import type { JsonObject } from "../../kernel/text/json.ts";
import type { RecordedEvent } from "../../ports/eventStore.ts";
import { positionText } from "./positions.ts";

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
