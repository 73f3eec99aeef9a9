import { projections } from "../../projections/index.ts";
import type { Projection } from "../../projections/projection.ts";
import { lockDirectory } from "../adapters/sqlite/directoryLock.ts";
import type { Position } from "../ports/eventStore.ts";
import { listReadModels } from "../readModels/list.ts";
import { type ReadingProgress, rebuildReadModels } from "../readModels/rebuild.ts";
import { type Difference, verifyReadModels } from "../readModels/verify.ts";
import { type Command, type Invocation, UsageError } from "./command.ts";
import { type OpenForCommand, withLog } from "./openForCommand.ts";
import { progressBar } from "./progressBar.ts";

/** Differences that are printed; all are counted. */
const DIFFERENCES_SHOWN_MAX = 100;

function named({ args }: Invocation): readonly Projection[] {
  if (args.length === 0) return projections;
  return args.map((name) => {
    const found = projections.find((projection) => projection.name === name);
    if (found) return found;
    throw new UsageError(
      `there is no projection ${name}; there are ${projections.map((one) => one.name).join(", ")}`,
    );
  });
}

/** Positions are opaque and ordered; how far between two of them one lies is good enough for a bar. */
function fraction(position: Position, head: Position): number {
  const number = (text: string) => Number(text.split("-", 1)[0] ?? 0);
  return number(head) === 0 ? 1 : number(position) / number(head);
}

function shownProgress(label: string) {
  const bar = progressBar(label);
  const show = ({ events, position, head, elapsedMs, eventsPerSecond }: ReadingProgress) => {
    const done = fraction(position, head);
    const left = done > 0 ? Math.round((elapsedMs / done - elapsedMs) / 1_000) : 0;
    bar.show(done, `${events} events, ${Math.round(eventsPerSecond)}/s, ${left} s left`);
  };
  return { show, end: bar.end };
}

/** Runs `work` on the log; as the owner of the data directory when no service runs on it. Ctrl-C gives up cleanly. */
async function onReadModels<Result>(
  { config }: Invocation,
  work: (open: OpenForCommand, owner: boolean, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lock = lockDirectory(config.dataDir);
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort());
  try {
    return await withLog(config, (open) => work(open, lock !== null, interrupted.signal));
  } finally {
    lock?.release();
  }
}

const list: Command = {
  name: "projection list",
  summary: "Show each read model's generation, checkpoint and rows",
  async run(invocation) {
    const listing = await withLog(invocation.config, ({ services, place }) =>
      listReadModels({ ...place, store: services.store, projections }),
    );
    const lines = listing.map((model) => {
      const state = model.status === "current" && !model.isAtHead ? "behind" : model.status;
      return `${model.name}  v${model.version}  ${state}  ${model.rows ?? "?"} rows  ${model.failure ?? ""}`.trimEnd();
    });
    invocation.print(listing, lines);
    return listing.some((model) => model.failure !== null) ? 1 : 0;
  },
};

const rebuild: Command = {
  name: "projection rebuild",
  operands: "[name…]",
  summary: "Build read models anew from the log and switch to them, also beside a running service",
  async run(invocation) {
    const progress = shownProgress("rebuild");
    const results = await onReadModels(invocation, ({ services, place }, owner, signal) =>
      rebuildReadModels({
        ...place,
        store: services.store,
        projections: named(invocation),
        owner,
        onProgress: progress.show,
        signal,
      }),
    );
    progress.end();
    const lines = results.map(({ name, outcome, file, reason }) => `${name}  ${outcome}  ${reason ?? file}`);
    invocation.print(results, lines);
    return results.some(({ outcome }) => outcome === "failed") ? 1 : 0;
  },
};

const verify: Command = {
  name: "projection verify",
  operands: "[name…]",
  summary: "Build read models aside and compare them with the live ones, row by row, at one position",
  async run(invocation) {
    const differences: Difference[] = [];
    const progress = shownProgress("verify");
    const results = await onReadModels(invocation, ({ services, place }, _owner, signal) =>
      verifyReadModels({
        ...place,
        store: services.store,
        projections: named(invocation),
        onProgress: progress.show,
        onDifference(difference) {
          if (differences.length < DIFFERENCES_SHOWN_MAX) differences.push(difference);
        },
        signal,
      }),
    );
    progress.end();
    const lines = [
      ...differences.map((difference) => `difference ${JSON.stringify(difference)}`),
      ...results.map(({ name, rows, differences: found, failure }) =>
        failure === null
          ? `${name}  ${rows} rows, ${found} differences`
          : `${name}  not verified: ${failure}`,
      ),
    ];
    invocation.print({ results, differences }, lines);
    return results.some(({ differences: found, failure }) => found > 0 || failure !== null) ? 1 : 0;
  },
};

export const projectionCommands: readonly Command[] = [list, rebuild, verify];
