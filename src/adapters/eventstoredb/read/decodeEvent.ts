import type { AllStreamRecordedEvent } from "@eventstore/db-client";
import type { JsonObject } from "../../../kernel/text/json.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import { positionText } from "../positions.ts";

/** An event that a subscription to the log has brought, as the port knows it. */
export function decodeEvent(event: AllStreamRecordedEvent): RecordedEvent {
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

function plainBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes;
}

function isJson(metadata: unknown): metadata is JsonObject {
  return typeof metadata === "object" && metadata !== null && !(metadata instanceof Uint8Array);
}
