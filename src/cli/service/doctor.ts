import { projections } from "../../../projections/index.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { behindSince } from "../../readModels/behindSince.ts";
import { listReadModels, type ReadModelListing } from "../../readModels/listReadModels.ts";
import { openContentStore } from "../../service/adapters/openContentStore.ts";
import type { Config } from "../../service/config/config.ts";
import { isDiskFull, MAKE_ROOM } from "../../service/faults/isDiskFull.ts";
import { allChecks, type LogFindings } from "../../service/status/checks/allChecks.ts";
import { bootstrapKeyChecks } from "../../service/status/checks/bootstrapKeyChecks.ts";
import { type Check, failed, ok, warning } from "../../service/status/checks/check.ts";
import { contentAway } from "../../service/status/checks/dependencyChecks.ts";
import { logChecks, unreadableLog } from "../../service/status/checks/log/logChecks.ts";
import {
  DAMAGED_CATALOG_REMEDY,
  readModelLag,
  stoppedReadModel,
} from "../../service/status/checks/log/readModelChecks.ts";
import type { ColouredLine } from "../output/terminalText.ts";
import { type Command, CommandFailure } from "../program/command.ts";
import { requireDataDirectory } from "../program/dataDirectory.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";
import { requireRegularFiles } from "../program/requireRegularFiles.ts";
import { projectionNamed } from "../projection/projectionNames.ts";
import { askRunningService } from "./askRunningService.ts";

/** The service checks everything before it answers; the relay alone may take 15 s. */
const ASK_MS_MAX = 30_000;

async function readModelCheck(config: Config, store: EventStore, listing: ReadModelListing): Promise<Check> {
  const { name, status, checkpoint, isAtHead, failure } = listing;
  if (failure !== null) return stoppedReadModel(name, failure, config);
  if (status === "absent") return ok(`read model ${name}`, "not built yet");
  if (isAtHead) return readModelLag(name, null, null);
  const since = checkpoint === null ? "unknown" : await behindSince(store, projectionNamed(name), checkpoint);
  return readModelLag(name, since, null);
}

async function readModelChecks(
  config: Config,
  store: EventStore,
  storage: OpenForCommand["storage"],
): Promise<readonly Check[]> {
  try {
    const listing = await listReadModels({ ...storage, store, projections });
    const inUse = listing.filter(({ status }) => status !== "retired" && status !== "building");
    return await Promise.all(inUse.map((one) => readModelCheck(config, store, one)));
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    const otherwise = error.failure === "damaged" ? DAMAGED_CATALOG_REMEDY : "ask again in a moment";
    return [failed("read models", error.message, isDiskFull(error, config.dataDir) ? MAKE_ROOM : otherwise)];
  }
}

async function logFindings(config: Config): Promise<LogFindings> {
  let content: Check | undefined;
  const look = async ({ deps, storage, logId, format }: OpenForCommand) => {
    return {
      log: await logChecks(deps, { logId, config, format }),
      readModels: await readModelChecks(config, deps.store, storage),
      firstKey: await bootstrapKeyChecks(config, deps.store),
      ...(content === undefined ? {} : { content }),
    };
  };
  const onContentAway = (fault: Error) => {
    content = contentAway(config, fault);
  };
  try {
    return await withLog(config, look, { onContentAway });
  } catch (error) {
    // Without a log there is nothing to check.
    if (error instanceof CommandFailure) throw error;
    const log = [unreadableLog(error as Error, config, "check STORE_URL and MASTER_KEY")];
    return { log, readModels: [], firstKey: [] };
  }
}

/** Without a service to ask: what a service with this command's settings would find. */
function checksWithoutService(config: Config, service: Check): Promise<readonly Check[]> {
  requireDataDirectory(config);
  const content = openContentStore(config);
  return allChecks({
    config,
    content,
    service: [service],
    log: () => logFindings(config),
    workers: async () => [],
  });
}

async function checksOf(config: Config, isServiceExpected: boolean): Promise<readonly Check[]> {
  const asked = await askRunningService(config.dataDir, "/status", ASK_MS_MAX);
  switch (asked.kind) {
    case "answered":
      return asked.body as readonly Check[];
    case "silent": {
      const detail = `the one on ${config.dataDir} does not answer; this command made the checks below`;
      return checksWithoutService(
        config,
        failed("service", detail, "check its log lines and whether it is suspended, then restart it"),
      );
    }
    case "busy": {
      const detail = `${config.dataDir} is in use by a service that is starting, or by another command; this command made the checks below`;
      return checksWithoutService(config, warning("service", detail, "ask again in a moment"));
    }
    case "none": {
      const detail = `none runs on ${config.dataDir}; this command made the checks below, with its own settings`;
      const tell = isServiceExpected ? failed : warning;
      return checksWithoutService(config, tell("service", detail, `\`${POSTLEDGER} serve\` starts one`));
    }
  }
}

const COLOURS = { ok: "green", warning: "yellow", failed: "red" } as const;
const WORD_CHARACTERS = 9;

function checkLine({ status, name, detail, action }: Check): ColouredLine {
  const rest = `${" ".repeat(WORD_CHARACTERS - status.length)}${name}: ${detail}`;
  return {
    colour: COLOURS[status],
    word: status,
    rest: action === null ? rest : `${rest}. To do: ${action}`,
  };
}

function summaryLine(checks: readonly Check[]): string {
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length;
  return `${checks.length} checks: ${count("ok")} ok, ${count("warning")} with a warning, ${count("failed")} failed`;
}

/** `postledger doctor`. */
export const doctor: Command = {
  name: "doctor",
  summary: "Check what the service depends on, and say what to do",
  description:
    "Asks the service that runs on DATA_DIR. If none runs, it says so and looks for itself, with the settings of its own environment. Exit status 1 when a check has failed; warnings leave it at 0.",
  // A running service may keep its log where this command's settings do not look.
  dataDirectory: "unused",
  options: [
    {
      name: "expect-service",
      value: null,
      help: "fail if no service runs on DATA_DIR: for a timer that is to find one that has died",
    },
  ],
  examples: ["postledger doctor", "DATA_DIR=/srv/mail postledger doctor --expect-service --json"],
  async run({ config, option, print }) {
    requireRegularFiles(config);
    const checks = await checksOf(config, option("expect-service") !== undefined);
    print(checks, [...checks.map(checkLine), summaryLine(checks)]);
    return checks.some(({ status }) => status === "failed") ? 1 : 0;
  },
};
