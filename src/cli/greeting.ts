import { join } from "node:path";
import { version } from "../../package.json";
import type { RunningApp } from "../app.ts";
import type { Config } from "../config.ts";
import { basePathOf } from "../controllers.ts";
import { bootstrapKeyPath, firstCurl } from "../firstRun.ts";
import { isEmbedded, relayPlace } from "../openParts.ts";

type Started = Pick<RunningApp, "url" | "hasBootstrapKey" | "isWithoutWorkspace">;

/** What a person at a terminal needs to know when the service has started. Nothing secret is in it. */
export function greeting(config: Config, started: Started): string {
  const url = started.url.origin + basePathOf(config);
  const facts = [
    ["Reference", `${url}/docs`],
    ["Data", dataPlace(config)],
    ["Mail", mailPlace(config)],
    ...(started.hasBootstrapKey ? [["API key", bootstrapKeyPath(config.dataDir)]] : []),
    ["Stop", "Ctrl-C, which finishes what was begun"],
  ];
  const lines = facts.map(([name = "", fact = ""]) => `  ${name.padEnd(11)}${fact}`);
  return `${[`Postledger ${version} listens on ${url}`, "", ...lines, "", ...nextSteps(config, url, started)].join("\n")}\n`;
}

function nextSteps(
  config: Config,
  url: string,
  { hasBootstrapKey, isWithoutWorkspace }: Started,
): readonly string[] {
  if (isWithoutWorkspace)
    return [
      "The log has no workspace yet. Make one, and a sender and a key for it:",
      "",
      ...firstCommands(),
      "",
    ];
  if (!hasBootstrapKey) return [];
  return [
    "Send a first email:",
    "",
    firstCurl(url, config.dataDir),
    "",
    "Its key may do everything and does not expire: make keys of your own with `bun run postledger api-key create`, then",
    "revoke it with `api-key revoke` and delete bootstrap.key.",
    "",
  ];
}

/** How to begin where no first run has made a workspace. */
function firstCommands(): readonly string[] {
  const run = "  bun run postledger";
  return [
    `${run} workspace create "Acme"`,
    `${run} sender add hello@acme.example --workspace <id>`,
    `${run} sender verify hello@acme.example --workspace <id>`,
    `${run} api-key create --workspace <id> --scopes email:send,email:read`,
  ];
}

function dataPlace(config: Config): string {
  return isEmbedded(config)
    ? `${config.dataDir} (the log is a file in it)`
    : `${config.dataDir} (the log is on EventStoreDB)`;
}

function mailPlace(config: Config): string {
  if (!config.deliveryEnabled) return "is accepted and not delivered here (DELIVERY=off)";
  const place = relayPlace(config);
  if (!config.smtpUrl.startsWith("outbox:")) return `goes to the relay ${place}`;
  return `is written to ${join(place, "*.eml")} and goes nowhere else; SMTP_URL names a relay`;
}
