import { appendFileSync, existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../support/root.ts";
import { RECORDED_VARIABLE, shapeOf } from "./recorded.ts";

/** What opens a log, and in which file: each is to tell what is appended. */
const OPENERS: readonly (readonly [file: string, name: string])[] = [
  ["src/adapters/sqlite/sqliteEventStore.ts", "openSqliteEventStore"],
  ["test/support/stores/memoryEventStore.ts", "memoryEventStore"],
];

interface Appended {
  readonly type: string;
  readonly data: object;
  readonly metadata: object;
}

interface Log {
  append(stream: string, events: readonly Appended[], ...rest: readonly unknown[]): Promise<unknown>;
}

const file = process.env[RECORDED_VARIABLE];
/** The length of the shortest event of each shape. */
const shortest = new Map<string, number>();

/** What is in data that is stored as bytes; undefined when that is no compressed JSON. */
function unpacked(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(Bun.zstdDecompressSync(data)));
  } catch {
    return undefined;
  }
}

function note({ type, data, metadata }: Appended): void {
  const isPacked = data instanceof Uint8Array;
  const zstd = isPacked ? Buffer.from(data).toString("base64") : undefined;
  const plain = isPacked ? unpacked(data) : data;
  if (plain === undefined) return;
  const shape = `${type} ${shapeOf({ metadata, data: plain })} ${zstd === undefined}`;
  const line = `${JSON.stringify({ type, metadata, data: plain, zstd })}\n`;
  if (file === undefined || line.length >= (shortest.get(shape) ?? Number.POSITIVE_INFINITY)) return;
  shortest.set(shape, line.length);
  appendFileSync(file, line);
}

/** Called by the changed text of what opens a log. */
function recorded(log: Log): Log {
  const append = log.append.bind(log);
  log.append = (stream, events, ...rest) => {
    for (const event of events) note(event);
    return append(stream, events, ...rest);
  };
  return log;
}

Object.assign(globalThis, { recordedLog: recorded });

Bun.plugin({
  name: "events that are written",
  setup(build) {
    for (const [file, name] of OPENERS) {
      if (!existsSync(join(ROOT, file))) throw new Error(`${file}, which opens a log, does not exist`);
      const filter = new RegExp(`/${RegExp.escape(file)}$`);
      build.onLoad({ filter }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        const declared = `export function ${name}(`;
        if (source.split(declared).length !== 2)
          throw new Error(`${path} no longer contains ${declared} exactly once`);
        const wrapper = `\nexport function ${name}(...given) { return globalThis.recordedLog(unrecorded(...given)); }\n`;
        return { contents: source.replace(declared, "function unrecorded(") + wrapper, loader: "ts" };
      });
    }
  },
});
