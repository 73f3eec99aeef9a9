import { join, resolve } from "node:path";
import { version } from "../../../package.json";
import { never } from "../../kernel/assert.ts";
import { CREATE_KEY, POSTLEDGER, shellQuoted } from "../../kernel/text/cliInvocation.ts";
import { mailDestination } from "../../service/adapters/openMailTransport.ts";
import { logDirectory } from "../../service/adapters/openStore.ts";
import { baseUrlWithPort } from "../../service/baseUrlWithPort.ts";
import { bootstrapKeyPath, firstCurl, ownKeyCommands } from "../../service/bootstrapWorkspace.ts";
import type { Config } from "../../service/config/config.ts";
import { DATA_DIR_DEFAULT } from "../../service/config/storeConfig.ts";
import { dashboardUrl } from "../../service/dashboardLink.ts";
import { basePathOf } from "../../service/httpControllers.ts";
import type { RunningApp } from "../../service/runApp.ts";
import { dataLocation, isLogElsewhere } from "../output/dataLocation.ts";

interface Started extends Pick<RunningApp, "url" | "bootstrapKey" | "isWithoutWorkspace"> {
  /** Logs in to the dashboard once; null if none was made. */
  readonly logInLink: string | null;
}

/**
 * What a person at a terminal needs to know when the service has started. Its only secret is a link that works once
 * and for minutes; it goes only to the terminal.
 */
export function startupBanner(config: Config, started: Started): string {
  const url = started.url.origin + basePathOf(config);
  const facts = [
    ["Dashboard", dashboardUrl({ baseUrl: baseUrlWithPort(config.baseUrl, started.url.port) })],
    ["Reference", `${url}/docs`],
    ["Data", dataLocation(config)],
    ["Mail", mailDestinationText(config)],
    ...(started.bootstrapKey !== null ? [["API key", bootstrapKeyPath(config.dataDir)]] : []),
    ["Stop", "Ctrl-C, which finishes work in flight"],
  ];
  const lines = facts.map(([name = "", fact = ""]) => `  ${name.padEnd(11)}${fact}`);
  return `${[`Postledger ${version} listens on ${url}`, "", ...lines, "", ...nextSteps(config, url, started)].join("\n")}\n`;
}

function nextSteps(
  config: Config,
  url: string,
  { bootstrapKey, isWithoutWorkspace, logInLink }: Started,
): readonly string[] {
  if (isWithoutWorkspace)
    return [
      "The log has no workspace yet. Make one, and a sender and a key for it:",
      "",
      ...firstCommands(commandHere(config)),
      "",
    ];
  if (bootstrapKey === null) return [];
  return [
    ...(logInLink === null ? [] : ["Open the dashboard, with a link that logs in once:", "", logInLink, ""]),
    "Send a first email:",
    "",
    firstCurl(url, config.dataDir),
    "",
    "Its key may do everything and does not expire. Make keys of your own, revoke it, and delete its file:",
    "",
    ...ownKeyCommands(bootstrapKey, commandHere(config)).map((command) => `  ${command}`),
    `  rm ${shellQuoted(bootstrapKeyPath(config.dataDir))}`,
    "",
  ];
}

/** How to begin when no first run made a workspace. */
function firstCommands(command: string): readonly string[] {
  return [
    `  ${command} workspace create "Acme"`,
    `  ${command} sender add hello@acme.example`,
    `  ${command} sender verify hello@acme.example`,
    `  ${command} ${CREATE_KEY}`,
  ];
}

/** The command for this installation: another terminal may lack the settings this one was started with. */
function commandHere(config: Config): string {
  const settings = [
    ...(config.dataDir === resolve(DATA_DIR_DEFAULT) ? [] : [`DATA_DIR=${shellQuoted(config.dataDir)}`]),
    ...(isLogElsewhere(config) ? [`STORE_URL=${shellQuoted(`file:${resolve(logDirectory(config))}`)}`] : []),
  ];
  return [...settings, POSTLEDGER].join(" ");
}

function mailDestinationText(config: Config): string {
  if (!config.deliveryEnabled) return "is accepted and not delivered here (DELIVERY=off)";
  const place = mailDestination(config);
  switch (config.mailRoute.kind) {
    case "outbox":
      return `is written to ${join(place, "*.eml")} and goes nowhere else; SMTP_URL names a relay`;
    case "smtp":
      return `goes to the relay ${place}`;
    default:
      return never(config.mailRoute);
  }
}
