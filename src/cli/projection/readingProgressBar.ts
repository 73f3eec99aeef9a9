import type { ReadingProgress } from "../../readModels/logReadProgress.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import { progressBar } from "../output/progressBar.ts";

/** A progress bar for reading the log: progress, speed and time left. */
export function readingProgressBar(label: string): { show(progress: ReadingProgress): void; end(): void } {
  const bar = progressBar(label);
  return {
    show(progress) {
      const { events, elapsedMs, eventsPerSecond } = progress;
      const done = logReadFraction(progress);
      const left = done > 0 ? Math.round((elapsedMs / done - elapsedMs) / 1_000) : 0;
      bar.show(done, `${events} events, ${Math.round(eventsPerSecond)}/s, ${left} s left`);
    },
    end: bar.end,
  };
}
