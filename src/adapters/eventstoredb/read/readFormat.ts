import { type JsonObject, parseJson } from "../../../kernel/text/json.ts";
import type { RecordedEvent } from "../../../ports/eventStore.ts";
import { positionText } from "../positions.ts";
import {
  bytesField,
  bytesOf,
  concat,
  EMPTY,
  eachField,
  type FieldValue,
  fieldsOf,
  messageField,
  numberField,
  numberOf,
  textField,
  textOf,
} from "../protobuf.ts";

// Requests and answers of the server's Read of one stream. We encode them ourselves for the same reason as appends.

export const READ_PATH = "/event_store.client.streams.Streams/Read";

/** Which events of a stream to read: those from a revision on, or the newest one. */
export type Slice = { readonly from: number; readonly max: number } | "newest";

/** One message of the server's answer to a read; null for messages that we do not need. */
type ReadAnswer = RecordedEvent | "noStream" | null;

const JSON_CONTENT = "application/json";
const BACKWARDS = numberField(3, 1);
const FROM_END = bytesField(4, EMPTY);
/** No filter, and event ids as text. */
const AS_THEY_ARE = concat([bytesField(8, EMPTY), messageField(9, [bytesField(2, EMPTY)])]);

export function readRequest(stream: string, slice: Slice): Buffer {
  const identifier = messageField(1, [textField(3, stream)]);
  const options =
    slice === "newest"
      ? [messageField(1, [identifier, FROM_END]), BACKWARDS, numberField(5, 1)]
      : [messageField(1, [identifier, numberField(2, slice.from)]), numberField(5, slice.max)];
  return concat([messageField(1, [...options, AS_THEY_ARE])]);
}

/** Decodes one message of an answer. Throws RangeError or TypeError for malformed bytes. */
export function decodeReadAnswer(message: Uint8Array): ReadAnswer {
  const fields = fieldsOf(message);
  if (fields.has(4)) return "noStream";
  const event = fields.get(1);
  if (event === undefined) return null;
  return recordedEvent(bytesOf(fieldsOf(bytesOf(event)).get(1)));
}

function recordedEvent(bytes: Uint8Array): RecordedEvent {
  const fields = new Map<number, FieldValue>();
  /** The server's own metadata, which has the event's type and the kind of its data. */
  const system = new Map<string, string>();
  eachField(bytes, (field, value) => {
    fields.set(field, value);
    if (field !== 6) return;
    const entry = fieldsOf(bytesOf(value));
    system.set(textOf(entry.get(1)), textOf(entry.get(2)));
  });
  const id = textOf(fieldsOf(bytesOf(fields.get(1))).get(2));
  const [commit, prepare] = [fields.get(5), fields.get(4)];
  if (typeof commit !== "bigint" || typeof prepare !== "bigint")
    throw new TypeError(`the server gives no position with event ${id}: it is too old`);
  const data = bytesOf(fields.get(8));
  return {
    stream: textOf(fieldsOf(bytesOf(fields.get(2))).get(3)),
    revision: numberOf(fields.get(3)),
    position: positionText({ commit, prepare }),
    id,
    type: system.get("type") ?? "",
    data: system.get("content-type") === JSON_CONTENT ? dataOf(textOf(data)) : plainBytes(data),
    metadata: metadataOf(bytesOf(fields.get(7))),
  };
}

/** Parses JSON data. Events written by others may be malformed; those stay text, and their codec refuses them. */
function dataOf(text: string): object {
  const value = parseJson(text);
  return (value === undefined ? text : value) as object;
}

function metadataOf(bytes: Uint8Array): JsonObject {
  const metadata = parseJson(textOf(bytes));
  return typeof metadata === "object" && metadata !== null ? (metadata as JsonObject) : {};
}

/** The same bytes without the methods of a Buffer. */
export function plainBytes(bytes: Uint8Array): Uint8Array {
  return Buffer.isBuffer(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : bytes;
}
