import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "../../support/process/runProcess.ts";
import { ROOT } from "../../support/root.ts";

const LINE_BYTES = 64 * 1024;
const LINES = 1_000;

/** Logs to a full disk, and prints by how many bytes the heap has grown. */
const LOG_TO_FULL_DISK = `
  const { createLogger } = await import(process.env.LOGGER);
  const logger = createLogger("info", process.env.FORMAT);
  const text = "x".repeat(${LINE_BYTES});
  const heapBytes = () => (Bun.gc(true), process.memoryUsage().heapUsed);
  const before = heapBytes();
  for (let line = 0; line < ${LINES}; line += 1) logger.info({ text }, "a line");
  console.log(heapBytes() - before);
`;

test.skipIf(!existsSync("/dev/full")).each(["json", "pretty"])(
  "%s lines that cannot be written do not stay in memory",
  async (format) => {
    const words = ["sh", "-c", 'exec "$0" -e "$1" 2>/dev/full', process.execPath, LOG_TO_FULL_DISK];
    const env = { ...process.env, LOGGER: join(ROOT, "src/adapters/pino/logger.ts"), FORMAT: format };
    const { exitCode, out } = await runProcess(words, { env });
    expect(exitCode).toBe(0);
    expect(Number(out)).toBeLessThan((LINES * LINE_BYTES) / 4);
  },
);
