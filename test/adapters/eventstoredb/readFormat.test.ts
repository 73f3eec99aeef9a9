import { describe, expect, test } from "bun:test";
import { StreamIdentifier, UUID } from "@eventstore/db-client/generated/shared_pb";
import { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb";
import fc from "fast-check";
import { decodeReadAnswer, readRequest } from "../../../src/adapters/eventstoredb/read/readFormat.ts";

const POSITION_DIGITS = 20;
const utf8 = (text: string) => new TextEncoder().encode(text);
const anyText = fc.string({ unit: "grapheme" });
const anyPosition = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });

/** An event as the server stores it: type and kind of data stand in metadata of its own. */
const anyRecord = fc.record({
  id: fc.uuid(),
  stream: fc.string({ minLength: 1, unit: "grapheme" }),
  revision: fc.maxSafeNat(),
  commit: anyPosition,
  prepare: anyPosition,
  type: fc.string({ minLength: 1, unit: "grapheme" }),
  isJson: fc.boolean(),
  data: fc.oneof(fc.dictionary(anyText, fc.jsonValue()), fc.jsonValue()),
  metadata: fc.dictionary(anyText, anyText),
});
type Stored = typeof anyRecord extends fc.Arbitrary<infer Value> ? Value : never;

function encodeResponse(record: Stored, dataBytes: Uint8Array, metadataBytes: Uint8Array): Uint8Array {
  const recorded = new ReadResp.ReadEvent.RecordedEvent();
  const id = new UUID();
  id.setString(record.id);
  recorded.setId(id);
  const identifier = new StreamIdentifier();
  identifier.setStreamName(utf8(record.stream));
  recorded.setStreamIdentifier(identifier);
  recorded.setStreamRevision(String(record.revision));
  recorded.setCommitPosition(String(record.commit));
  recorded.setPreparePosition(String(record.prepare));
  const kind = record.isJson ? "application/json" : "application/octet-stream";
  recorded
    .getMetadataMap()
    .set("created", "638000000000000000")
    .set("type", record.type)
    .set("content-type", kind);
  recorded.setCustomMetadata(metadataBytes);
  recorded.setData(dataBytes);
  const event = new ReadResp.ReadEvent();
  event.setEvent(recorded);
  const answer = new ReadResp();
  answer.setEvent(event);
  return answer.serializeBinary();
}

describe("requests and answers of stream reads", () => {
  test("the vendor's own code decodes every request correctly (property)", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: "grapheme" }),
        fc.oneof(
          fc.constant("newest" as const),
          fc.record({ from: fc.maxSafeNat(), max: fc.integer({ min: 1 }) }),
        ),
        (stream, slice) => {
          const options = ReadReq.deserializeBinary(new Uint8Array(readRequest(stream, slice))).getOptions();
          const streamOptions = options?.getStream();
          expect(
            Buffer.from(streamOptions?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
          ).toBe(stream);
          expect(options?.getResolveLinks()).toBe(false);
          expect(options?.hasNoFilter()).toBe(true);
          expect(options?.getUuidOption()?.hasString()).toBe(true);
          expect(streamOptions?.hasEnd()).toBe(slice === "newest");
          expect(options?.getReadDirection() as number).toBe(slice === "newest" ? 1 : 0);
          expect(options?.getCount()).toBe(slice === "newest" ? "1" : String(slice.max));
          if (slice !== "newest") expect(streamOptions?.getRevision()).toBe(String(slice.from));
        },
      ),
    );
  });

  test("an event is read as the vendor's own code writes it (property)", () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const bytes = utf8(JSON.stringify(record.data));
        const answer = encodeResponse(record, bytes, utf8(JSON.stringify(record.metadata)));
        const digits = (value: bigint) => String(value).padStart(POSITION_DIGITS, "0");
        const { stream, revision, id, type, metadata } = record;
        const read = decodeReadAnswer(Buffer.from(answer)) as { readonly data: object };
        if (!record.isJson) expect(Buffer.isBuffer(read.data)).toBe(false);
        expect(JSON.stringify(read)).toBe(
          JSON.stringify({
            ...{ stream, revision, position: `${digits(record.commit)}-${digits(record.prepare)}`, id, type },
            ...{ data: record.isJson ? record.data : bytes, metadata },
          }),
        );
      }),
    );
  });

  test("events of other writers are read too: invalid JSON as text, invalid metadata as empty", () => {
    const [record] = fc.sample(anyRecord, 1) as [Stored];
    const answer = encodeResponse({ ...record, isJson: true }, utf8("{none"), utf8("none"));
    expect(decodeReadAnswer(answer)).toMatchObject({ data: "{none", metadata: {} });
  });

  test("a missing stream is reported, and messages that are not about events are skipped", () => {
    const missing = new ReadResp();
    missing.setStreamNotFound(new ReadResp.StreamNotFound());
    expect(decodeReadAnswer(missing.serializeBinary())).toBe("noStream");
    const last = new ReadResp();
    last.setLastStreamPosition("7");
    expect(decodeReadAnswer(last.serializeBinary())).toBeNull();
  });

  test("an event without a position and a truncated message are refused", () => {
    const [record] = fc.sample(anyRecord, 1) as [Stored];
    const withoutPositions = { ...record, commit: 0n, prepare: 0n };
    expect(() => decodeReadAnswer(encodeResponse(withoutPositions, utf8("{}"), utf8("{}")))).toThrow(
      TypeError,
    );
    const complete = encodeResponse(record, utf8("{}"), utf8("{}"));
    expect(() => decodeReadAnswer(complete.subarray(0, -1))).toThrow(RangeError);
  });
});
