import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type EmailContent, emailCodec } from "../../src/domain/email/events.ts";
import { COMPRESS_ABOVE_BYTES, encodeData, UnreadableEventError } from "../../src/kernel/event/eventCodec.ts";
import { anyText } from "../support/anyText.ts";
import { throughStore } from "../support/givenWhenThen.ts";

describe("the codec", () => {
  const content = fc.record({
    from: fc.constant("shop@example.com"),
    to: fc.constant("ana@example.com"),
    subject: anyText,
    text: fc.oneof(
      anyText,
      fc.integer({ min: 0, max: 20_000 }).map((length) => "äb".repeat(length)),
    ),
    metadata: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), {
      noNullPrototype: true,
    }),
    variables: fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
  }) as fc.Arbitrary<EmailContent>;

  test("returns what it was given, compressed or not (property)", () => {
    fc.assert(
      fc.property(content, (given) => {
        const data = { salt: "salt", content: given };
        const event = throughStore(emailCodec, { type: "EmailContentStored", data });
        expect(event.data).toEqual(JSON.parse(JSON.stringify(data)));
      }),
      { numRuns: 150 },
    );
  });

  const long = { salt: "s", content: { from: "a", to: "b", subject: "c", text: "long ".repeat(2_000) } };
  const packed = encodeData(long, JSON.stringify(long).length) as Uint8Array;

  test("compresses only long data", () => {
    expect(packed).toBeInstanceOf(Uint8Array);
    expect(packed.length).toBeLessThan(1_000);
    expect(encodeData({ a: 1 }, COMPRESS_ABOVE_BYTES)).toEqual({ a: 1 });
    expect(emailCodec.decode({ type: "EmailContentStored", data: packed }).data).toEqual(long);
  });

  test.each<[string, string, object]>([
    ["an unknown type", "EmailLaunched", {}],
    ["a type that only the prototype has", "toString", {}],
    ["a missing field", "EmailSent", { attempt: 1, transport: "smtp" }],
    ["a field of another type", "EmailSent", { attempt: "1", transport: "smtp", reply: "" }],
    ["a fraction for a whole number", "EmailSent", { attempt: 1.5, transport: "smtp", reply: "" }],
    ["a list for an object", "EmailSent", []],
    ["half of the compressed bytes", "EmailContentStored", packed.subarray(0, packed.length >> 1)],
    ["no bytes", "EmailContentStored", new Uint8Array()],
    ["other bytes", "EmailContentStored", new TextEncoder().encode('{"salt":"s"}')],
    ["compressed text that is no JSON", "EmailContentStored", Bun.zstdCompressSync("{")],
    ["compressed JSON of another shape", "EmailContentStored", Bun.zstdCompressSync('{"a":1}')],
    ["compressed null", "EmailContentStored", Bun.zstdCompressSync("null")],
  ])("refuses %s", (_, type, data) => {
    expect(() => emailCodec.decode({ type, data })).toThrow(UnreadableEventError);
  });

  test("keeps fields that a newer version has added", () => {
    const data = { attempt: 1, transport: "smtp", reply: "", added: true };
    expect(emailCodec.decode({ type: "EmailSent", data }).data).toEqual(data);
  });

  test("reports what is wrong without quoting the data", () => {
    const secret = { salt: "s", content: { from: "ana@example.com", to: 1, subject: "c" } };
    expect(() => emailCodec.decode({ type: "EmailContentStored", data: secret })).toThrow(/^(?!.*ana@)/s);
  });
});
