import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import manifest from "../../package.json";
import { commandGroups } from "../../src/cli/program/commandGroups.ts";
import { RELAY_REPLY_READINGS } from "../../src/domain/email/delivery/smtpReplyRules.ts";
import { EMAIL_REASONS } from "../../src/domain/email/emailReasons.ts";
import { RESUMED } from "../../src/domain/email/state.ts";
import { WEBHOOK_EVENT_TYPES } from "../../src/domain/webhookEventTypes.ts";
import { SEARCH_WORDS } from "../../src/http/dashboard/email/emailSearch.ts";
import { emailOperations } from "../../src/http/email/emailOperations.ts";
import { SendEmailBody } from "../../src/http/email/sendEmailSchema.ts";
import { documentPath } from "../../src/http/reference/openApiDocument.ts";
import { type Route, routes } from "../../src/http/server/routes.ts";
import { webhookEvents } from "../../src/http/webhook/webhookEventSchemas.ts";
import { document } from "../gate/documentedAnswers.ts";
import { ROOT } from "../support/root.ts";
import { PAGES } from "./pages.ts";

function textOf(path: string): string {
  return PAGES.find((page) => page.path === path)?.text ?? "";
}

/** The code in the cells of one column of all tables of a text. */
function codeInColumn(text: string, column: number): readonly string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  return rows.flatMap((row) => {
    const cell = row.split(" | ")[column] ?? "";
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  });
}

function section(text: string, heading: string): string {
  return text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
}

test("every dependency has a line that says what it is needed for, and no other has one", () => {
  const described = codeInColumn(section(textOf("docs/architecture.md"), "Dependencies"), 0);
  expect(described.toSorted()).toEqual(Object.keys(manifest.dependencies).toSorted());
});

test("the page of the command line names every command, and no other", () => {
  const text = textOf("docs/command-line.md").split(/^## Exit status/m)[0] ?? "";
  const named = codeInColumn(text, 0).map((call) => call.replace(/ [<[].*$/, ""));
  const commands = commandGroups.flatMap((group) => group.commands.map(({ name }) => name));
  expect(named.toSorted()).toEqual(commands.toSorted());
});

test("every error code has its line", () => {
  const source = readFileSync(join(ROOT, "src/http/server/problemCodes.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}([A-Z_]+): \{/gm)].map(([, code = ""]) => code);
  const described = [
    ...codeInColumn(textOf("docs/sending.md"), 1),
    ...codeInColumn(textOf("docs/api.md"), 1),
  ];
  const named = new Set(described.filter((code) => /^[A-Z]+(_[A-Z]+)*$/.test(code)));
  expect(codes.length).toBeGreaterThan(30);
  expect([...named].toSorted()).toEqual(codes.toSorted());
});

/** The code in the first column of the tables of a page's part, of any depth. */
function firstColumnOf(path: string, heading: RegExp): readonly string[] {
  const part = textOf(path)
    .split(/^#+ /m)
    .find((one) => heading.test(one));
  return codeInColumn(part ?? "", 0);
}

test("every endpoint has its row with its scope, by itself or under the path of its resource, and no other has one", () => {
  const rows = section(textOf("docs/api.md"), "Endpoints")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((row) => ({ named: codeInColumn(row, 0), scope: codeInColumn(row, 1)[0] ?? null }));
  const scopes = new Map(rows.flatMap(({ named, scope }) => named.map((name) => [name, scope] as const)));
  const used = new Set<string>();
  const rowOf = (endpoint: string, path: string): string | undefined => {
    const parts = path.split("/");
    const above = parts.map((_, at) => parts.slice(0, parts.length - at).join("/"));
    return [endpoint, path, ...above].find((name) => scopes.has(name));
  };
  for (const { method, path, scope } of Object.values<Route>(routes)) {
    const shown = documentPath(path);
    const endpoint = `${method} ${shown}`;
    const row = rowOf(endpoint, shown);
    used.add(row ?? "");
    expect({ endpoint, scope: row === undefined ? "no row" : scopes.get(row) }).toEqual({ endpoint, scope });
  }
  expect([...scopes.keys()].filter((name) => !used.has(name))).toEqual([]);
});

test("every field of a send has its row, and no other has one", () => {
  const described = firstColumnOf("docs/sending.md", /^The request/);
  expect(described.toSorted()).toEqual(Object.keys(SendEmailBody.properties).toSorted());
});

test("the filters of the list of messages are named, and so are the words of the dashboard's search", () => {
  const filters = Object.keys(emailOperations.listEmails.query.properties);
  const named =
    textOf("docs/sending.md")
      .split(/^### /m)
      .find((part) => part.startsWith("List messages\n")) ?? "";
  const ofPaging = ["limit", "cursor"];
  expect(filters.filter((name) => !ofPaging.includes(name) && !named.includes(`\`${name}\``))).toEqual([]);
  const words = firstColumnOf("docs/dashboard.md", /^Find a message/).map((word) => word.replace(/:.*$/, ""));
  expect(words.toSorted()).toEqual([...SEARCH_WORDS].toSorted());
});

test("every metric has its row, and no other has one", () => {
  const source = ["serviceMetrics", "processMetrics"]
    .map((name) => readFileSync(join(ROOT, `src/service/metrics/${name}.ts`), "utf8"))
    .join("\n");
  const metrics = [...source.matchAll(/(?:gauge|counter|histogram|single)\(\s*"(\w+)"/g)].map(
    ([, name = ""]) => name,
  );
  const described = firstColumnOf("docs/operations.md", /^Metrics/)
    .map((metric) => metric.replace(/{.*/, ""))
    // The conditions for alerts have a table too.
    .filter((metric) => /^\w+$/.test(metric));
  expect(metrics.length).toBeGreaterThan(10);
  expect(described.toSorted()).toEqual(metrics.toSorted());
});

test("every type of webhook event has its row, and no other has one", () => {
  const described = firstColumnOf("docs/receiving-webhooks.md", /^Event types/);
  expect(described.toSorted()).toEqual([...WEBHOOK_EVENT_TYPES].toSorted());
});

test("every reason that is not the relay's has its row, and no other has one", () => {
  const source = ["domain/email/delivery/classifyMailOutcome", "domain/email/decisions", "domain/email/state"]
    .concat("commands/email/send/acceptEmail")
    .map((name) => readFileSync(join(ROOT, `src/${name}.ts`), "utf8"))
    .join("\n");
  const places = /reason: "\w+"|^ {2}why: .*|^type Held = .*|^export const \w+ = "\w+";/gm;
  const literals = (source.match(places) ?? []).flatMap((place) => place.match(/(?<=")\w+(?=")/g) ?? []);
  // A lease is released as "suppressed" for the reason suppressed_since.
  const ofRelay = new Set([...Object.keys(RELAY_REPLY_READINGS), "suppressed"]);
  const reasons = new Set(literals.filter((reason) => !ofRelay.has(reason)));
  const described = firstColumnOf("docs/receiving-webhooks.md", /^Reasons of the service itself/);
  expect(reasons.size).toBeGreaterThan(10);
  expect(described.filter((word) => word !== "reason").toSorted()).toEqual([...reasons].toSorted());
  // A message that was resumed keeps the reason that it was deferred for.
  const known = [...EMAIL_REASONS.filter((reason) => !ofRelay.has(reason)), RESUMED];
  expect(new Set<string>(known)).toEqual(reasons);
});

test("every header of a webhook has its row, and no other has one", () => {
  const headers = document.webhooks["webhook.test"]?.post.parameters.map(({ name }) => name) ?? [];
  const described = firstColumnOf("docs/receiving-webhooks.md", /^What arrives/);
  expect(described.toSorted()).toEqual(headers.toSorted());
});

test("the payload that is shown to receivers is one", () => {
  const page = PAGES.find(({ path }) => path === "docs/receiving-webhooks.md");
  const example = JSON.parse(page?.blocks.find(({ language }) => language === "json")?.text ?? "");
  const schema = webhookEvents.find(({ type }) => type === example.type)?.schema;
  expect(schema).toBeDefined();
  expect([...(schema ? Value.Errors(schema, example) : [])].map(({ path }) => path)).toEqual([]);
});
