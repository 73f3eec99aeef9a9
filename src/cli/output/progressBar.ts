const BAR_CHARACTERS = 30;
const DRAW_EVERY_MS = 100;

/** How far long work has come: a bar that is redrawn on a terminal, nothing elsewhere. */
export interface ProgressBar {
  /** `done` in [0, 1]; `note` follows the bar. */
  show(done: number, note: string): void;
  end(): void;
}

/** Draws on standard error, so that a result on standard output stays clean. */
export function progressBar(label: string): ProgressBar {
  if (!process.stderr.isTTY) return { show: () => {}, end: () => {} };
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show(done, note) {
      const now = performance.now();
      if (now - drawnAt < DRAW_EVERY_MS && done < 1) return;
      drawnAt = now;
      const filled = Math.round(Math.min(1, Math.max(0, done)) * BAR_CHARACTERS);
      const bar = "#".repeat(filled).padEnd(BAR_CHARACTERS, ".");
      process.stderr.write(`\r\x1b[K${label} [${bar}] ${note}`);
    },
    end: () => {
      process.stderr.write("\r\x1b[K");
    },
  };
}
