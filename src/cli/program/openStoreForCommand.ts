import { mkdirSync } from "node:fs";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { createDependencies } from "../../commands/createDependencies.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { OpenInstance } from "../../commands/instance/openInstance.ts";
import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import { IMPORT_STREAM } from "../../domain/logImport/events.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { type EventStore, StoreError } from "../../ports/eventStore.ts";
import { dependenciesFromConfig } from "../../service/adapters/dependenciesFromConfig.ts";
import { openContentStore } from "../../service/adapters/openContentStore.ts";
import { type OpenStoreOptions, openStore } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { readModelDirectory } from "../../service/config/storeConfig.ts";
import { storeError } from "../../service/faults/startupErrors.ts";
import {
  type OpenLogOptions,
  openInstanceFromConfig,
  requireUnboundBeforeCreation,
} from "../../service/openInstanceFromConfig.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { waitingFor } from "../output/waitingFor.ts";
import { refuseEmptyStore } from "./dataDirectory.ts";

/** The log and its keys, open for one command beside a service that may be running. */
export interface OpenForCommand {
  readonly deps: Dependencies;
  readonly logId: string;
  /** As in `OpenInstance`. */
  readonly incarnations: OpenInstance["incarnations"];
  readonly format: number;
  /** The same as `deps.store`, but a command that writes can also write to it when the log is frozen. */
  readonly log: EventStore;
  readonly storage: {
    readonly databases: typeof sqliteReadDatabases;
    readonly directory: string;
    readonly logId: string;
  };
}

interface OpenForCommandOptions extends OpenLogOptions {
  /** Creates a log if there is none; otherwise that is refused. */
  readonly begins?: boolean;
  /** Requires that the content store is there. */
  readonly copiesContent?: boolean;
}

/** Whether nothing was ever written to the store. An interrupted import has written something. */
async function isUnused(
  config: Config,
  store: EventStore,
  { evenIfFaulty }: OpenStoreOptions = {},
): Promise<boolean> {
  try {
    for (const stream of [INSTANCE_STREAM, IMPORT_STREAM]) {
      if ((await store.lastRevision(stream)) !== null) return false;
    }
    return true;
  } catch (error) {
    // A command that looks for faults reports itself why the store cannot be read.
    if (evenIfFaulty && error instanceof StoreError) return false;
    throw storeError(config, error);
  }
}

/** Opens only the store, does the work, and closes it. Throws if there is no log. */
export async function withStore<Result>(
  config: Config,
  work: (store: EventStore) => Promise<Result>,
  options: OpenStoreOptions = {},
): Promise<Result> {
  const store = await waitingFor("the log", openStore(config, options));
  try {
    if (await isUnused(config, store, options)) refuseEmptyStore(config);
    return await work(store);
  } finally {
    await store.close();
  }
}

/**
 * Opens the log, to be read unless `use.writes` is set, does the work, and closes everything. Few commands need content,
 * so it may be away unless `use.copiesContent` is set.
 */
export async function withLog<Result>(
  config: Config,
  work: (open: OpenForCommand) => Promise<Result>,
  use: OpenForCommandOptions = {},
): Promise<Result> {
  if (use.begins) mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_MODE });
  const content = openContentStore(config);
  const beforeCreation = requireUnboundBeforeCreation(config, content);
  const log = await waitingFor("the log", openStore(config, { beforeCreation }));
  try {
    if (!use.begins && (await isUnused(config, log))) refuseEmptyStore(config);
    const { keys, logId, incarnation, incarnations, frozenAt, format } = await waitingFor(
      "the log and the content store",
      openInstanceFromConfig(config, log, content, {
        ...(use.copiesContent ? {} : { onContentAway: () => {} }),
        ...use,
      }),
    );
    const opened = use.writes ? log : readOnlyEventStore(log, "a command that only reads must not write");
    const store = frozenAt === null ? opened : readOnlyEventStore(log, FROZEN);
    const deps = createDependencies({
      ...dependenciesFromConfig(config),
      store,
      content,
      keys,
      // Commands accept no mail, so nobody asks.
      suppressions: { isSuppressed: () => false, holds: async () => false },
      recentEmails: null,
    });
    const directory = readModelDirectory(config);
    return await work({
      deps,
      logId,
      incarnations,
      format,
      log: opened,
      storage: { databases: sqliteReadDatabases, directory, logId: incarnation },
    });
  } finally {
    await log.close();
  }
}

/** As {@link withLog}, to change something: `context` is that of a command given now. */
export function changeLog<Result>(
  config: Config,
  change: (deps: Dependencies, context: CommandContext) => Promise<Result>,
): Promise<Result> {
  return withLog(config, ({ deps }) => change(deps, systemCommandContext("cli")), { writes: true });
}

/** What is written to a frozen log would be lost. */
const FROZEN = `the log is frozen: it goes on where it was imported; \`${POSTLEDGER} log unfreeze\` lets it go on here`;

/** A log that can be read. Refuses to be written to, with this reason. */
function readOnlyEventStore(store: EventStore, reason: string): EventStore {
  const refuse = async () => {
    throw new StoreError("unavailable", reason);
  };
  // On the embedded store a flush is an append of nothing.
  const flush = () => store.flush();
  return Object.assign(Object.create(store) as EventStore, { append: refuse, truncateBefore: refuse, flush });
}
