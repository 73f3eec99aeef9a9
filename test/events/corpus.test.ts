import { describe, expect, test } from "bun:test";
import { type TObject, Type } from "@sinclair/typebox";
import { codecs } from "../../src/domain/allEventCodecs.ts";
import {
  createCodec,
  type DataMapping,
  type EventSchemas,
  type TypeVersions,
} from "../../src/kernel/event/eventCodec.ts";
import { LOG_FORMAT } from "../../src/kernel/event/logFormat.ts";
import type { Json, JsonObject } from "../../src/kernel/text/json.ts";
import { additiveFaults, type Definition, isDefinition } from "./additive.ts";
import {
  type Codecs,
  type Corpus,
  corpusFaults,
  formatsOf,
  frozenFaults,
  type Golden,
  goldenFile,
  liftedFile,
  missingFaults,
  readCorpus,
  storedOf,
} from "./goldenEvents.ts";

const corpus = readCorpus();
const goldens = [...corpus.goldens.values()];

describe("every event that was ever written", () => {
  test("has a golden file of its type and version, which is as it was recorded", () => {
    expect(missingFaults(codecs, corpus)).toEqual([]);
    expect(frozenFaults(corpus)).toEqual([]);
  });

  test("is read as it was recorded, by schemas that have only grown", () => {
    expect(corpusFaults(codecs, corpus)).toEqual([]);
  });

  test("is there as JSON, and compressed where it is stored so", () => {
    expect(goldens.every(({ samples }) => samples.length > 0)).toBe(true);
    const packed = goldens.filter(({ samples }) => samples.some(({ zstd }) => zstd !== undefined));
    expect(packed.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["EmailContentStored", "TemplateVersionDrafted"]),
    );
    for (const golden of goldens) {
      for (const sample of golden.samples) {
        const { data } = storedOf(golden, sample);
        const isPacked = data instanceof Uint8Array;
        const plain = isPacked ? JSON.parse(Bun.zstdDecompressSync(data).toString()) : data;
        expect(plain).toEqual(sample.data);
        expect(sample.metadata.schema).toBe(golden.schema);
      }
    }
  });

  test("is of a release that has a format of the log for what it knew first: LOG_FORMAT.reads is how many such releases there are", () => {
    expect(LOG_FORMAT.reads).toBe(formatsOf(corpus));
  });
});

/** The data with a field that no release knows, in every object that its schema names fields of. */
function withExtraMembers(data: Json, definition: Definition): Json {
  const { properties, items } = definition;
  if (Array.isArray(data) && isDefinition(items)) return data.map((item) => withExtraMembers(item, items));
  if (!isDefinition(data) || !isDefinition(properties)) return data;
  const more = Object.entries(data as JsonObject).map(([name, value]) => {
    const known = properties[name];
    return [name, isDefinition(known) ? withExtraMembers(value, known) : value];
  });
  return { ...Object.fromEntries(more), ofTheNextRelease: { is: ["new", 1, null] } };
}

describe("a field that a newer release adds", () => {
  test("is no trouble to this one, in no event", () => {
    for (const codec of codecs) {
      for (const golden of goldens.filter(({ type }) => codec.formats.has(type))) {
        for (const { data, metadata } of golden.samples) {
          const more = withExtraMembers(data, golden.definition) as JsonObject;
          const { type } = golden;
          expect(more).toHaveProperty("ofTheNextRelease");
          expect<string>(codec.decode({ type, data: more, metadata }).type).toBe(type);
        }
      }
    }
  });
});

const sent = corpus.goldens.get(goldenFile("EmailSent", 1)) as Golden;
const fields = () => ({ attempt: Type.Integer(), transport: Type.String(), reply: Type.String() });

/** A corpus of nothing but EmailSent. */
function corpusOf(...changes: readonly Partial<Corpus>[]): Corpus {
  const file = goldenFile("EmailSent", 1);
  const digest = new Map([[file, "digest"]]);
  const whole = { goldens: new Map([[file, sent]]), lifted: new Map(), digests: digest, frozen: digest };
  return Object.assign(whole, ...changes);
}

function codecsOf(schemas: EventSchemas, versions: Record<string, TypeVersions> = {}): Codecs {
  return [createCodec(schemas, versions)];
}

function faultsOf(schema: TObject, versions: Record<string, TypeVersions> = {}, corpus = corpusOf()) {
  return corpusFaults(codecsOf({ EmailSent: schema }, versions), corpus).join("\n");
}

describe("a planted fault is found:", () => {
  const { transport: _transport, ...withoutTransport } = fields();

  test("none in what is as it was, or has an optional field more", () => {
    expect(faultsOf(Type.Object(fields()))).toBe("");
    expect(faultsOf(Type.Object({ ...fields(), route: Type.Optional(Type.String()) }))).toBe("");
  });

  test.each<[string, TObject, string]>([
    ["a field is removed", Type.Object(withoutTransport), "/transport is gone"],
    [
      "a field is renamed",
      Type.Object({ ...withoutTransport, via: Type.String() }),
      "/via is new and not optional",
    ],
    [
      "a field is of another kind",
      Type.Object({ ...fields(), attempt: Type.String() }),
      "/attempt is of another kind",
    ],
    [
      "a field is narrower",
      Type.Object({ ...fields(), attempt: Type.Integer({ minimum: 1 }) }),
      "/attempt is of",
    ],
    [
      "a field may be absent",
      Type.Object({ ...fields(), reply: Type.Optional(Type.String()) }),
      "/reply may be absent",
    ],
    ["a new field must be there", Type.Object({ ...fields(), route: Type.String() }), "cannot be read"],
    [
      "unknown fields are refused",
      Type.Object(fields(), { additionalProperties: false }),
      "takes other fields",
    ],
  ])("%s", (_, schema, fault) => {
    expect(faultsOf(schema)).toContain(fault);
  });

  test("a type is renamed, or gone", () => {
    const faults = corpusFaults(codecsOf({ EmailLeft: Type.Object(fields()) }), corpusOf()).join("\n");
    expect(faults).toContain("no codec knows EmailSent");
    expect(faults).toContain(
      "there is no golden file EmailLeft.v1.json: run `bun test/events/recordEvents.ts <a test file that writes EmailLeft>`",
    );
  });

  test("a golden file is changed, gone, or made by hand", () => {
    const file = goldenFile("EmailSent", 1);
    const other = new Map([[file, "other"]]);
    expect(frozenFaults(corpusOf({ digests: other }))).toEqual([
      expect.stringContaining(`${file} was changed`),
    ]);
    expect(frozenFaults(corpusOf({ digests: new Map() }))).toEqual([
      expect.stringContaining(`${file} is gone`),
    ]);
    expect(frozenFaults(corpusOf({ frozen: new Map() }))).toEqual([expect.stringContaining("not by hand")]);
  });

  describe("a new version", () => {
    const { attempt: _attempt, ...rest } = fields();
    const schema = Type.Object({ ...rest, nth: Type.Integer() });
    const upcast: DataMapping = ({ attempt, ...others }) => ({ ...others, nth: attempt });
    const downcast: DataMapping = ({ nth, ...others }) => ({ ...others, attempt: nth });
    const versions = { EmailSent: { upcasts: [upcast] } };
    const second: Golden = {
      ...sent,
      schema: 2,
      definition: JSON.parse(JSON.stringify(schema)),
      samples: sent.samples.map(({ data, metadata }) => {
        return { metadata: { ...metadata, schema: 2 }, data: upcast(data) as JsonObject };
      }),
    };
    const files = [goldenFile("EmailSent", 2), liftedFile(sent, 2)] as const;
    const marks = new Map([goldenFile("EmailSent", 1), ...files].map((file) => [file, "digest"]));
    const corpusWith = (lifted: readonly JsonObject[]) =>
      corpusOf({
        goldens: new Map([...corpusOf().goldens, [files[0], second]]),
        lifted: new Map([[files[1], lifted]]),
        digests: marks,
        frozen: marks,
      });
    const now = second.samples.map(({ data }) => data);

    test("needs golden files of its own and of what the older one is now", () => {
      expect(faultsOf(schema, versions)).toContain("there is no golden file EmailSent.v2.json");
      expect(faultsOf(schema, versions)).toContain("EmailSent.v1.json: has no EmailSent.v1.as2.json");
      expect(faultsOf(schema, versions, corpusWith(now))).toBe("");
    });

    test("reads the older one as it was recorded", () => {
      const renamed: DataMapping = ({ attempt, ...others }) => ({ ...others, nth: Number(attempt) + 1 });
      expect(faultsOf(schema, { EmailSent: { upcasts: [renamed] } }, corpusWith(now))).toContain(
        "EmailSent.v1.json: reads its",
      );
      const identity: DataMapping = (data) => data;
      expect(faultsOf(schema, { EmailSent: { upcasts: [identity] } }, corpusWith(now))).toContain(
        "cannot be read",
      );
    });

    test("loses nothing while the older one is still written", () => {
      const careful = (how: DataMapping) => ({
        EmailSent: { upcasts: [upcast], writes: { version: 1, downcast: how } },
      });
      expect(faultsOf(schema, careful(downcast), corpusWith(now))).toBe("");
      const forgets: DataMapping = ({ nth: _nth, ...others }) => ({ ...others, attempt: 0 });
      expect(faultsOf(schema, careful(forgets), corpusWith(now))).toContain(
        "is another one once it was written again",
      );
    });
  });
});

describe("a schema that has only grown", () => {
  const plain = (schema: TObject) => JSON.parse(JSON.stringify(schema));
  const nested = (inner: TObject) =>
    plain(Type.Object({ list: Type.Array(inner), one: Type.Union([inner, Type.Null()]) }));
  const inner = Type.Object({ a: Type.String() });

  test("may have grown within lists and choices", () => {
    const grown = Type.Object({ a: Type.String(), b: Type.Optional(Type.String()) });
    expect(additiveFaults(nested(inner), nested(grown))).toEqual([]);
    expect(additiveFaults(nested(grown), nested(inner))).toEqual(["/list/*/b is gone", "/one/b is gone"]);
  });

  test("has no further choice: an older release could not read it", () => {
    const choice = (...names: readonly string[]) =>
      plain(Type.Object({ why: Type.Union(names.map((name) => Type.Literal(name))) }));
    expect(additiveFaults(choice("a", "b"), choice("a", "b"))).toEqual([]);
    expect(additiveFaults(choice("a", "b"), choice("a", "b", "c"))).toEqual(["/why is of another kind"]);
  });
});
