import { describe, expect, test } from "bun:test";
import { AllStreamPosition, UUID } from "@eventstore/db-client/generated/shared_pb";
import { BatchAppendReq, BatchAppendResp } from "@eventstore/db-client/generated/streams_pb";
import fc from "fast-check";
import {
  decodeAnswer,
  encodeAppend,
  requestOf,
} from "../../../src/adapters/eventstoredb/append/batchAppendFormat.ts";
import { fieldsOf } from "../../../src/adapters/eventstoredb/protobuf.ts";
import type { JsonObject } from "../../../src/kernel/text/json.ts";

const anyEvent = fc.record({
  id: fc.uuid(),
  type: fc.string({ minLength: 1, unit: "grapheme" }),
  data: fc.oneof(
    fc.dictionary(fc.string(), fc.jsonValue()),
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ minLength: 16_000, maxLength: 40_000 }).map((filler) => ({ filler })),
  ),
  metadata: fc.dictionary(fc.string(), fc.string()) as fc.Arbitrary<JsonObject>,
});

describe("the wire format of batch appends", () => {
  test("the vendor's own code decodes every request correctly (property)", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: "grapheme" }),
        fc.array(anyEvent, { minLength: 1, maxLength: 4 }),
        fc.oneof(fc.constant("noStream" as const), fc.maxSafeNat()),
        fc.uuid(),
        (stream, events, expected, correlationId) => {
          const bytes = requestOf(encodeAppend(stream, events, expected), correlationId);
          const request = BatchAppendReq.deserializeBinary(new Uint8Array(bytes));
          const options = request.getOptions();
          expect(request.getCorrelationId()?.getString()).toBe(correlationId);
          expect(request.getIsFinal()).toBe(true);
          expect(Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString()).toBe(
            stream,
          );
          expect(options?.hasNoStream()).toBe(expected === "noStream");
          if (expected !== "noStream") expect(options?.getStreamPosition()).toBe(String(expected));
          const read = request.getProposedMessagesList().map((message) => {
            const isJson = message.getMetadataMap().get("content-type") === "application/json";
            const data = message.getData_asU8();
            return {
              id: message.getId()?.getString(),
              type: message.getMetadataMap().get("type"),
              data: isJson ? JSON.parse(Buffer.from(data).toString()) : new Uint8Array(data),
              metadata: JSON.parse(Buffer.from(message.getCustomMetadata_asU8()).toString()),
            };
          });
          expect(JSON.stringify(read)).toBe(JSON.stringify(events));
        },
      ),
    );
  });

  test("an answer is read as the vendor's own code writes it (property)", () => {
    const anyPosition = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(fc.uuid(), fc.maxSafeNat(), anyPosition, anyPosition, (id, revision, commit, prepare) => {
        const position = new AllStreamPosition();
        position.setCommitPosition(String(commit));
        position.setPreparePosition(String(prepare));
        const success = new BatchAppendResp.Success();
        success.setCurrentRevision(String(revision));
        // What the generated code lacks in its types.
        (success as unknown as { setPosition(value: AllStreamPosition): void }).setPosition(position);
        const correlationId = new UUID();
        correlationId.setString(id);
        const response = new BatchAppendResp();
        response.setCorrelationId(correlationId);
        response.setSuccess(success);
        expect(decodeAnswer(response.serializeBinary())).toEqual({
          correlationId: id,
          answer: { outcome: "written", revision, position: { commit, prepare } },
        });
      }),
    );
  });

  test("arbitrary bytes are refused or decoded, and never hang the decoder (property)", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          fieldsOf(bytes);
          decodeAnswer(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });

  test("a truncated answer is refused", () => {
    for (const bytes of [[0x0a, 5, 1], [0x08], [0x08, ...Array(11).fill(0xff)], [0x0b]]) {
      expect(() => fieldsOf(new Uint8Array(bytes))).toThrow(RangeError);
    }
  });
});
