import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { toNewEvents } from "../../src/commands/transact.ts";
import { codecs } from "../../src/domain/allEventCodecs.ts";
import {
  COMPRESS_ABOVE_BYTES,
  createCodec,
  type DataMapping,
  encodeData,
  UnreadableEventError,
} from "../../src/kernel/event/eventCodec.ts";
import { contentDigest, contentEventHash, eventHash } from "../../src/kernel/event/eventHash.ts";

const ROOT = `${import.meta.dir}/../..`;
const context = { at: 0, correlationId: "test", actor: "test" };

/** Version 1 had `name`; version 2 has it in two parts; version 3 calls the second one otherwise. */
const PersonNamed = Type.Object({ given: Type.String(), family: Type.String() });
const toSecond: DataMapping = ({ name }) => {
  const [given, last] = String(name).split(" ");
  return { given, last };
};
const toThird: DataMapping = ({ last, ...rest }) => ({ ...rest, family: last });
const toSecondAgain: DataMapping = ({ family, ...rest }) => ({ ...rest, last: family });

const upcasts = [toSecond, toThird];
const newest = createCodec({ PersonNamed }, { PersonNamed: { upcasts } });
const checked = createCodec(
  { PersonNamed },
  { PersonNamed: { upcasts, writes: { version: 2, downcast: toSecondAgain } } },
);
const ana = { given: "Ana", family: "Silva" };

function stored(data: object, schema?: unknown) {
  return { type: "PersonNamed", data, ...(schema === undefined ? {} : { metadata: { schema } }) };
}

describe("a codec", () => {
  test.each([
    [1, { name: "Ana Silva" }],
    [2, { given: "Ana", last: "Silva" }],
    [3, ana],
    [undefined, ana],
  ])("reads version %p", (schema, data) => {
    const before = structuredClone(data);
    expect(newest.decode(stored(data, schema)).data).toEqual(ana);
    expect(data).toEqual(before);
  });

  test("reads an older version that is compressed", () => {
    const long = "x".repeat(COMPRESS_ABOVE_BYTES);
    const data = encodeData({ name: `Ana ${long}` }, COMPRESS_ABOVE_BYTES + 1);
    expect(newest.decode(stored(data, 1)).data).toEqual({ given: "Ana", family: long });
  });

  test.each<[unknown, object]>([
    [1, { given: "Ana", family: "Silva" }],
    [2, { given: "Ana", last: 1 }],
    [2, []],
    [0, ana],
    [1.5, ana],
    ["3", ana],
    [null, ana],
    [1, new Uint8Array([1, 2, 3])],
  ])("refuses what is not of version %p: %p", (schema, data) => {
    expect(() => newest.decode(stored(data, schema))).toThrow(UnreadableEventError);
  });

  test("a upcast that throws is an event that cannot be read, and tells nothing of it", () => {
    const broken: DataMapping = ({ name }) => {
      throw new Error(`no family in ${name}`);
    };
    const codec = createCodec({ PersonNamed }, { PersonNamed: { upcasts: [broken] } });
    const read = () => codec.decode(stored({ name: "Ana" }, 1));
    expect(read).toThrow("event PersonNamed cannot be read: its data is damaged");
  });

  test("refuses a newer version without looking into it, and says where it is and what to do", () => {
    const streamPosition = { stream: "person-1", revision: 7 };
    const read = () => newest.decode({ ...stored(new Uint8Array([0]), 4), ...streamPosition });
    expect(read).toThrow(
      "event PersonNamed (person-1, revision 7) cannot be read: it was written by a newer version of this program: upgrade (its version is 4, this one reads 3)",
    );
  });

  test("an unknown type is said to be a newer version's", () => {
    const read = () => newest.decode({ type: "PersonMoved", data: {}, stream: "person-1", revision: 8 });
    expect(read).toThrow(/PersonMoved \(person-1, revision 8\).*unknown.*newer version.*upgrade/);
  });

  test("writes the newest version, or the one before it that is still to be written", () => {
    expect(newest.encode(stored(ana))).toEqual({ data: ana, schema: 3 });
    expect(checked.encode(stored(ana))).toEqual({ data: { given: "Ana", last: "Silva" }, schema: 2 });
    expect(checked.formats.get("PersonNamed")).toMatchObject({ reads: 3, writes: 2 });
  });

  test.each([newest, checked])("reads again what it has written, compressed or not", (codec) => {
    const long = { given: "Ana", family: "x".repeat(COMPRESS_ABOVE_BYTES) };
    for (const data of [ana, encodeData(long, COMPRESS_ABOVE_BYTES + 1)]) {
      const { data: written, schema } = codec.encode(stored(data));
      expect(written instanceof Uint8Array).toBe(data instanceof Uint8Array);
      expect(codec.decode(stored(written, schema)).data).toEqual(data === ana ? ana : long);
    }
  });

  test.each([0, 3, 4])("cannot be told to write version %p in the place of the newest", (version) => {
    const versions = { PersonNamed: { upcasts, writes: { version, downcast: toSecondAgain } } };
    expect(() => createCodec({ PersonNamed }, versions)).toThrow("invariant");
  });
});

describe("what is appended", () => {
  test("carries the version of its type", () => {
    for (const codec of codecs) {
      for (const [type, { writes }] of codec.formats) {
        const [event] = toNewEvents([{ type, data: {} }], context);
        expect([type, event?.metadata.schema]).toEqual([type, writes]);
      }
    }
  });

  test("is known to one codec of the list in domain/eventCodecs.ts: no noun is missing from it", async () => {
    const list = await Bun.file(`${ROOT}/src/domain/allEventCodecs.ts`).text();
    const nouns = [...new Bun.Glob("src/domain/*/events.ts").scanSync({ cwd: ROOT })].sort();
    expect(nouns.filter((path) => !list.includes(`"./${path.slice("src/domain/".length)}"`))).toEqual([]);
    expect(nouns.length).toBe(codecs.length);
    const types = codecs.flatMap((codec) => codec.types);
    expect(new Set(types).size).toBe(types.length);
  });

  test("of one append has versions of its own, and the leaf of erased content is made with its", () => {
    const salt = crypto.randomUUID();
    const content = { from: "a@example.com", to: "b@example.com", subject: "Hello" };
    const contentEventId = crypto.randomUUID();
    const streamPosition = { stream: "email-1", metadata: { schema: 1, at: "2030-01-01T00:00:00.000Z" } };
    const stored = {
      ...streamPosition,
      revision: 0,
      type: "EmailContentStored",
      id: contentEventId,
      data: { salt, content },
    };
    const digest = contentDigest(salt, "content", JSON.stringify(content));
    const data = { contentEventId, contentDigest: digest };
    const queued = { ...streamPosition, revision: 1, type: "EmailQueued", id: crypto.randomUUID(), data };
    expect(contentEventHash({ ...queued, metadata: { ...streamPosition.metadata, schema: 2 } })).toBe(
      eventHash(stored),
    );
    const later = { ...stored, metadata: { ...streamPosition.metadata, schema: 3 } };
    expect(contentEventHash({ ...queued, data: { ...data, contentSchema: 3 } })).toBe(eventHash(later));
  });
});
