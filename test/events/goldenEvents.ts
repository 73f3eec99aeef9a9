import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import type { Codec, StoredEvent } from "../../src/kernel/event/eventCodec.ts";
import type { JsonObject } from "../../src/kernel/text/json.ts";
import { additiveFaults, type Definition } from "./additive.ts";

/** One event as a store has it. `zstd` is its data in base64 where it was compressed: `data` is then what is in it. */
export interface Sample {
  readonly metadata: JsonObject;
  readonly data: JsonObject;
  readonly zstd?: string;
}

/** Events of one version of one type, as they were written: `<type>.v<schema>.json`. */
export interface Golden {
  readonly type: string;
  readonly schema: number;
  /** The release that was the first to know this version. */
  readonly since: string;
  /** The schema of that version, as it was when this was recorded. */
  readonly definition: Definition;
  readonly samples: readonly Sample[];
}

/** What the samples of a golden file are once they are lifted to a newer version: `<type>.v<schema>.as<newer>.json`. */
export type Lifted = readonly JsonObject[];

/** All golden files, and the digests that keep them as they are. */
export interface Corpus {
  /** By file name. */
  readonly goldens: ReadonlyMap<string, Golden>;
  readonly lifted: ReadonlyMap<string, Lifted>;
  /** SHA-256 in hex of each file. */
  readonly digests: ReadonlyMap<string, string>;
  /** What the digests were when the files were recorded. */
  readonly frozen: ReadonlyMap<string, string>;
}

export type Codecs = readonly Codec<DomainEvent>[];

export const CORPUS = join(import.meta.dir, "corpus");
export const FROZEN = "frozen.json";
const HOW = "bun test/events/recordEvents.ts";

export function goldenFile(type: string, schema: number): string {
  return `${type}.v${schema}.json`;
}

export function liftedFile({ type, schema }: Golden, newer: number): string {
  return `${type}.v${schema}.as${newer}.json`;
}

export function digestOf(bytes: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}

export function readCorpus(): Corpus {
  const goldens = new Map<string, Golden>();
  const lifted = new Map<string, Lifted>();
  const digests = new Map<string, string>();
  const files = existsSync(CORPUS) ? readdirSync(CORPUS).sort() : [];
  for (const file of files.filter((name) => name !== FROZEN)) {
    const bytes = readFileSync(join(CORPUS, file));
    digests.set(file, digestOf(bytes));
    const content: unknown = JSON.parse(bytes.toString());
    if (/\.as\d+\.json$/.test(file)) lifted.set(file, content as Lifted);
    else goldens.set(file, content as Golden);
  }
  const frozen = files.includes(FROZEN) ? readFileSync(join(CORPUS, FROZEN), "utf8") : "{}";
  return { goldens, lifted, digests, frozen: new Map(Object.entries(JSON.parse(frozen))) };
}

/** A sample as a codec gets it from a store. */
export function storedOf({ type }: Golden, { data, zstd, metadata }: Sample): StoredEvent {
  return { type, data: zstd === undefined ? data : Buffer.from(zstd, "base64"), metadata };
}

/** What has become of files that were recorded: they are what logs hold, so they stay as they are. */
export function frozenFaults({ digests, frozen }: Corpus): readonly string[] {
  const changed = [...digests].flatMap(([file, digest]) => {
    const was = frozen.get(file);
    if (was === undefined) return [`${file} is not in ${FROZEN}: record it with ${HOW}, not by hand`];
    return was === digest
      ? []
      : [`${file} was changed: logs hold what it was, so golden files stay as they are`];
  });
  const removedFiles = [...frozen.keys()].filter((file) => !digests.has(file));
  return [...changed, ...removedFiles.map((file) => `${file} is gone: logs still hold such events`)];
}

/** Which versions of which types have no golden file, each with what to do. */
export function missingFaults(codecs: Codecs, { goldens }: Corpus): readonly string[] {
  return missingVersions(codecs, goldens).map(({ type, schema }) => {
    const file = goldenFile(type, schema);
    return `there is no golden file ${file}: run \`${HOW} <a test file that writes ${type}>\` and commit what it adds`;
  });
}

export function missingVersions(codecs: Codecs, goldens: Corpus["goldens"]) {
  return codecs.flatMap(({ formats }) =>
    [...formats].flatMap(([type, { reads }]) =>
      Array.from({ length: reads }, (_, index) => ({ type, schema: index + 1 })).filter(
        ({ schema }) => !goldens.has(goldenFile(type, schema)),
      ),
    ),
  );
}

function decoded(codec: Codec<DomainEvent>, stored: StoredEvent): unknown {
  try {
    return codec.decode(stored).data;
  } catch (error) {
    return String(error);
  }
}

/** What a codec makes of one golden file that it should not. */
function goldenFaults(
  codec: Codec<DomainEvent>,
  golden: Golden,
  lifted: Lifted | undefined,
): readonly string[] {
  const { type, schema, samples, definition } = golden;
  const format = codec.formats.get(type);
  if (!format || schema > format.reads) return ["is of a version that no codec reads"];
  const isNewest = schema === format.reads;
  const expected = isNewest ? samples.map(({ data }) => data) : lifted;
  if (!expected)
    return [`has no ${liftedFile(golden, format.reads)}: run \`${HOW}\` and look at what it adds`];
  const faults = isNewest ? [...additiveFaults(definition, plainSchema(format.schema))] : [];
  for (const [index, sample] of samples.entries()) {
    const data = decoded(codec, storedOf(golden, sample));
    if (!isDeepStrictEqual(data, expected[index])) {
      faults.push(
        typeof data === "string" ? data : `reads its sample ${index} otherwise than it was recorded`,
      );
      continue;
    }
    const encoded = codec.encode({ type, data: data as object });
    const reread = decoded(codec, { type, data: encoded.data, metadata: { schema: encoded.schema } });
    if (!isDeepStrictEqual(reread, data))
      faults.push(`sample ${index} is another one once it was written again`);
  }
  return faults;
}

export function plainSchema(schema: object): Definition {
  return JSON.parse(JSON.stringify(schema)) as Definition;
}

/** Every way in which codecs do not read what was written before, or could not tell. */
export function corpusFaults(codecs: Codecs, corpus: Corpus): readonly string[] {
  const codecByType = new Map(codecs.flatMap((codec) => codec.types.map((type) => [type, codec] as const)));
  const unread = [...corpus.goldens].flatMap(([file, golden]) => {
    const codec = codecByType.get(golden.type);
    if (!codec) return [`${file}: no codec knows ${golden.type}: logs still hold such events`];
    const reads = codec.formats.get(golden.type)?.reads ?? 0;
    const faults = goldenFaults(codec, golden, corpus.lifted.get(liftedFile(golden, reads)));
    return faults.map((fault) => `${file}: ${fault}`);
  });
  return [...frozenFaults(corpus), ...missingFaults(codecs, corpus), ...unread];
}

/** Each release that knew something new has a format of its own ({@link LOG_FORMAT}). */
export function formatsOf({ goldens }: Corpus): number {
  return new Set([...goldens.values()].map(({ since }) => since)).size;
}
