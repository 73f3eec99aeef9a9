import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageFile from "../../package.json";
import { codecs } from "../../src/domain/allEventCodecs.ts";
import type { DomainEvent } from "../../src/kernel/event/decider.ts";
import type { Codec, EventFormat } from "../../src/kernel/event/eventCodec.ts";
import type { JsonObject } from "../../src/kernel/text/json.ts";
import type { Definition } from "./additive.ts";
import {
  CORPUS,
  digestOf,
  FROZEN,
  type Golden,
  goldenFile,
  liftedFile,
  missingFaults,
  missingVersions,
  plainSchema,
  readCorpus,
  type Sample,
  storedOf,
} from "./goldenEvents.ts";
import { featuresOf, RECORDED_VARIABLE, type Recorded } from "./recorded.ts";

const ROOT = join(import.meta.dir, "../..");
/** Samples of one version of one type: enough to show every field of it, and one that is compressed. */
const SAMPLES_MAX = 6;
/** Longer ones are left out: a file is there to be read. */
const SAMPLE_CHARACTERS_MAX = 40_000;

interface Known {
  readonly codec: Codec<DomainEvent>;
  readonly format: EventFormat;
}

/** Runs tests and answers what they have appended, in this process or in others that they begin. */
async function recordedBy(paths: readonly string[]): Promise<readonly Recorded[]> {
  if (paths.length === 0) return [];
  const directory = mkdtempSync(join(tmpdir(), "recorded-events-"));
  const file = join(directory, "events.jsonl");
  writeFileSync(file, "");
  const preload = `--preload=${join(import.meta.dir, "recordingPreload.ts")}`;
  const child = Bun.spawn([process.execPath, "test", ...paths], {
    cwd: ROOT,
    env: { ...process.env, BUN_OPTIONS: preload, [RECORDED_VARIABLE]: file },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  await child.exited;
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  rmSync(directory, { recursive: true, force: true });
  return lines.map((line) => JSON.parse(line) as Recorded);
}

/** The fewest events that together have every field that any of them has: always the one that adds the most. */
function selectSamples(events: readonly Recorded[], definition: Definition): readonly Recorded[] {
  const features = ({ data }: Recorded) => featuresOf(data, definition);
  const lengthOf = (event: Recorded) => JSON.stringify(event).length;
  const all = events
    .filter((event) => lengthOf(event) <= SAMPLE_CHARACTERS_MAX)
    .sort((a, b) => lengthOf(a) - lengthOf(b));
  const shortest = all.find(({ zstd }) => zstd === undefined) ?? all[0];
  const packed = all.find(({ zstd }) => zstd !== undefined);
  const samples = [...new Set([shortest, packed])].filter((event) => event !== undefined);
  const recordedFeatures = new Set(samples.flatMap(features));
  while (samples.length < SAMPLES_MAX) {
    const newFeatureCounts = all.map(
      (event) => features(event).filter((feature) => !recordedFeatures.has(feature)).length,
    );
    const maxNew = Math.max(...newFeatureCounts);
    const next = all[newFeatureCounts.indexOf(maxNew)];
    if (maxNew === 0 || next === undefined) break;
    samples.push(next);
    for (const feature of features(next)) recordedFeatures.add(feature);
  }
  return samples;
}

function isReadable(codec: Codec<DomainEvent>, { type, data, metadata }: Recorded): boolean {
  try {
    codec.decode({ type, data, metadata });
    return typeof metadata.at === "string";
  } catch {
    return false;
  }
}

/** What was recorded of one version; of the newest, where nothing writes it yet, what was recorded before is lifted. */
function samplesOf({ codec, format }: Known, type: string, schema: number, all: readonly Recorded[]) {
  const own = all.filter((event) => event.type === type && event.metadata.schema === schema);
  const samples = selectSamples(
    own.filter((event) => isReadable(codec, event)),
    plainSchema(format.schema),
  );
  if (samples.length > 0) return samples.map(({ type: _type, ...sample }) => sample);
  const before = readCorpus().goldens.get(goldenFile(type, schema - 1));
  if (!before || schema !== format.reads) return [];
  return before.samples.map((sample): Sample => {
    const data = codec.decode(storedOf(before, sample)).data as JsonObject;
    return { metadata: { ...sample.metadata, schema }, data };
  });
}

/** Adds a file that was not there, and the digest that keeps it as it is. */
function add(file: string, content: unknown): void {
  const text = `${JSON.stringify(content, null, 1)}\n`;
  mkdirSync(CORPUS, { recursive: true });
  writeFileSync(join(CORPUS, file), text, { flag: "wx" });
  const path = join(CORPUS, FROZEN);
  const frozen = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, string>) : {};
  const all = Object.entries({ ...frozen, [file]: digestOf(text) }).sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`);
  console.log(`added ${file}`);
}

function codecOf(type: string): Known | null {
  const codec = codecs.find(({ formats }) => formats.has(type));
  const format = codec?.formats.get(type);
  return codec && format ? { codec, format } : null;
}

function addGoldens(events: readonly Recorded[]): void {
  for (const { type, schema } of missingVersions(codecs, readCorpus().goldens)) {
    const known = codecOf(type);
    const samples = known ? samplesOf(known, type, schema, events) : [];
    if (!known || samples.length === 0) continue;
    const definition = plainSchema(known.format.schema);
    const golden: Golden = { type, schema, since: packageFile.version, definition, samples };
    add(goldenFile(type, schema), golden);
  }
}

/** What older versions are now, for whoever reviews it: from then on they are to stay that. */
function addLifted(): void {
  const { goldens, lifted } = readCorpus();
  for (const golden of goldens.values()) {
    const known = codecOf(golden.type);
    if (!known || golden.schema >= known.format.reads) continue;
    const file = liftedFile(golden, known.format.reads);
    if (lifted.has(file)) continue;
    add(
      file,
      golden.samples.map((sample) => known.codec.decode(storedOf(golden, sample)).data),
    );
  }
}

addGoldens(await recordedBy(process.argv.slice(2)));
addLifted();
const missing = missingFaults(codecs, readCorpus());
for (const fault of missing) console.log(fault);
process.exit(missing.length === 0 ? 0 : 1);
