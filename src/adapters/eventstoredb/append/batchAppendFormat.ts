import { invariant } from "../../../kernel/assert.ts";
import {
  APPEND_BYTES_MAX,
  type ExpectedRevision,
  type NewEvent,
  StoreError,
} from "../../../ports/eventStore.ts";
import type { FailureKind } from "../clientErrors.ts";
import {
  bytesField,
  bytesOf,
  concat,
  EMPTY,
  type Encoded,
  fieldsOf,
  messageField,
  numberField,
  numberOf,
  textField,
  textOf,
} from "../protobuf.ts";

// Requests and answers of the server's BatchAppend. We encode them ourselves, because the vendor's generated code takes
// longer for one append than everything else that a client does for it.

export const BATCH_APPEND_PATH = "/event_store.client.streams.Streams/BatchAppend";

/** An append as encoded in its request, without the correlation id. */
export type EncodedAppend = Encoded;

/** The server's answer to one append. */
export type AppendAnswer =
  | {
      readonly outcome: "written";
      /** The stream's last revision after it. */
      readonly revision: number;
      /** Null when the server no longer knows the position of a repeated append. */
      readonly position: { readonly commit: bigint; readonly prepare: bigint } | null;
    }
  /** `actual` is the revision that conflicted, null when there is no such stream. */
  | { readonly outcome: "lost"; readonly actual: number | null }
  | { readonly outcome: "failed"; readonly kind: FailureKind; readonly message: string };

const JSON_CONTENT = "application/json";
const BINARY_CONTENT = "application/octet-stream";
/** How many event types to keep in encoded form. */
const TYPES_KEPT_MAX = 1_000;
const NO_STREAM_EXPECTED = bytesField(3, EMPTY);
const IS_FINAL = numberField(4, 1);

const jsonTypes = new Map<string, Encoded>();

/** Encodes an append. Throws `tooLarge`, and TypeError for data that is not JSON. */
export function encodeAppend(
  stream: string,
  events: readonly NewEvent[],
  expected: ExpectedRevision,
): EncodedAppend {
  invariant(events.length > 0, "an append has at least one event");
  let bytes = 0;
  const proposed = events.map(({ id, type, data, metadata }) => {
    const isBytes = data instanceof Uint8Array;
    const dataBytes = isBytes ? data : Buffer.from(JSON.stringify(data));
    const metadataBytes = Buffer.from(JSON.stringify(metadata));
    bytes += dataBytes.length + metadataBytes.length;
    return messageField(3, [
      messageField(1, [textField(2, id)]),
      isBytes ? typeFields(type, BINARY_CONTENT) : jsonTypeFields(type),
      bytesField(3, metadataBytes),
      bytesField(4, dataBytes),
    ]);
  });
  if (bytes > APPEND_BYTES_MAX) {
    throw new StoreError("tooLarge", `an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`);
  }
  const identifier = messageField(1, [textField(3, stream)]);
  const expectation = expected === "noStream" ? NO_STREAM_EXPECTED : numberField(2, expected);
  return concat([messageField(2, [identifier, expectation]), ...proposed, IS_FINAL]);
}

/** The request of one attempt at an append. The answer repeats `correlationId`. */
export function requestOf(append: EncodedAppend, correlationId: string): Buffer {
  return concat([messageField(1, [textField(2, correlationId)]), append]);
}

/** Decodes an answer and the id of its request. Throws RangeError for malformed bytes. */
export function decodeAnswer(bytes: Uint8Array): {
  readonly correlationId: string;
  readonly answer: AppendAnswer;
} {
  const fields = fieldsOf(bytes);
  const correlationId = textOf(fieldsOf(bytesOf(fields.get(1))).get(2));
  const success = fields.get(3);
  const answer = success === undefined ? failureOf(bytesOf(fields.get(2))) : successOf(bytesOf(success));
  return { correlationId, answer };
}

function successOf(bytes: Uint8Array): AppendAnswer {
  const fields = fieldsOf(bytes);
  const position = fields.get(3);
  if (position === undefined)
    return { outcome: "written", revision: numberOf(fields.get(1)), position: null };
  const places = fieldsOf(bytesOf(position));
  const [commit, prepare] = [places.get(1) ?? 0n, places.get(2) ?? 0n];
  if (typeof commit !== "bigint" || typeof prepare !== "bigint") throw new RangeError("no position");
  return { outcome: "written", revision: numberOf(fields.get(1)), position: { commit, prepare } };
}

/** What each error means for the append. The names are those of messages in the server's `shared.proto`. */
const FAILURE_KINDS: Readonly<Record<string, FailureKind>> = {
  AccessDenied: "refused",
  BadRequest: "refused",
  StreamDeleted: "refused",
  MaximumAppendSizeExceeded: "tooLarge",
  // No details: the node did not accept the append, because it is not ready, too busy, or not the leader.
  Empty: "notDone",
};
const MESSAGES: Readonly<Record<string, string>> = {
  AccessDenied: "access to the stream is denied",
  StreamDeleted: "the stream was deleted for good",
  Timeout: "the server gave up the write",
};

function failureOf(status: Uint8Array): AppendAnswer {
  const fields = fieldsOf(status);
  const details = fieldsOf(bytesOf(fields.get(3)));
  const errorName = textOf(details.get(1)).replace(/^.*[./]/, "");
  if (errorName === "WrongExpectedVersion") {
    const actual = fieldsOf(bytesOf(details.get(2))).get(1);
    return { outcome: "lost", actual: actual === undefined ? null : numberOf(actual) };
  }
  const message = MESSAGES[errorName] ?? (textOf(fields.get(2)) || errorName);
  return { outcome: "failed", kind: FAILURE_KINDS[errorName] ?? "unknown", message };
}

function jsonTypeFields(type: string): Encoded {
  const kept = jsonTypes.get(type);
  if (kept !== undefined) return kept;
  const fields = typeFields(type, JSON_CONTENT);
  if (jsonTypes.size < TYPES_KEPT_MAX) jsonTypes.set(type, fields);
  return fields;
}

function typeFields(type: string, contentType: string): Encoded {
  const entry = (name: string, value: string) => messageField(2, [textField(1, name), textField(2, value)]);
  return concat([entry("type", type), entry("content-type", contentType)]);
}
