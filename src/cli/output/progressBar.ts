const BAR_CHARACTERS = 30;
const DRAW_EVERY_MS = 100;

/**
 * Progress of long work: a bar that is redrawn on a terminal, nothing elsewhere. It is on standard error, to keep
 * standard output clean.
 */
export function progressBar(label: string) {
  const { isTTY } = process.stderr;
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    /** `done` in [0, 1]; `note` follows the bar. */
    show(done: number, note: string) {
      if (!isTTY) return;
      const now = performance.now();
      if (now - drawnAt < DRAW_EVERY_MS && done < 1) return;
      drawnAt = now;
      const filled = Math.round(Math.min(1, Math.max(0, done)) * BAR_CHARACTERS);
      const bar = "#".repeat(filled).padEnd(BAR_CHARACTERS, ".");
      process.stderr.write(`\r\x1b[K${label} [${bar}] ${note}`);
    },
    end: () => {
      if (isTTY) process.stderr.write("\r\x1b[K");
    },
  };
}
