import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Static, Type } from "@sinclair/typebox";
import { operations } from "../../../src/http/reference/allOperations.ts";
import { openApiDocument } from "../../../src/http/reference/openApiDocument.ts";
import type { OpenApiDocument } from "../../../src/http/reference/openApiTypes.ts";
import { requestSnippets, type SnippetLanguage } from "../../../src/http/reference/requestSnippets.ts";
import { startTestApp, type TestApp } from "../../support/service.ts";

/** Everything that a language may take for something else. */
const EVIL = `'"\\ \`$(id)\` $HOME \${1} {0} %s #{x} <?php JSON, EOT\nJSON;\n\t\u2028 é 🎩 \\u0041 \\n ''' """`;
const PROGRAM_MS_MAX = 60_000;

/** What runs a snippet, given its text; PHP is not among the programs of this project. */
const PROGRAMS: Partial<Record<SnippetLanguage, (code: string) => readonly string[]>> = {
  curl: (code) => ["sh", "-c", code],
  js: (code) => [process.execPath, "-e", code],
  python: (code) => ["python3", "-c", code],
};
const runnable = Object.keys(PROGRAMS).filter(
  (language) => language !== "python" || Bun.which("python3") !== null,
) as SnippetLanguage[];

const SendBody = operations.sendEmail?.body as ReturnType<typeof Type.Object>;

/** The document of the service with other values in the example of a send. */
function documentWith(example: Readonly<Record<string, string>>, key: string): OpenApiDocument {
  const { sendEmail } = operations;
  const headers = Type.Object({ "Idempotency-Key": Type.String({ examples: [key] }) });
  const body = { ...SendBody, examples: [example as Static<typeof SendBody>] };
  const changed = { ...operations, sendEmail: { ...sendEmail, headers, body } } as typeof operations;
  return openApiDocument({ operations: changed, baseUrl: new URL("http://localhost/"), version: "1" });
}

function snippetsOf(document: OpenApiDocument, name: string, base: string) {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId !== name) continue;
      return requestSnippets(
        { method: method.toUpperCase(), path, operation },
        document.components.schemas,
        base,
      );
    }
  }
  throw new Error(`no operation ${name}`);
}

describe("the snippets of a request run as they stand", () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ env: { DELIVERY: "off" } });
  });
  afterAll(() => app.remove());

  const run = async (language: SnippetLanguage, code: string): Promise<string> => {
    const command = PROGRAMS[language]?.(code) ?? [];
    const child = Bun.spawn([...command], {
      env: { ...process.env, POSTLEDGER_API_KEY: app.apiKey, NO_PROXY: "*", no_proxy: "*" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, failure, status] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    expect({ status, failure: status === 0 ? "" : failure }).toEqual({ status: 0, failure: "" });
    return out;
  };
  const emailOf = async (key: string) => {
    const list = await app.call("GET", `/api/v1/emails?idempotency_key=${encodeURIComponent(key)}`);
    return (await app.call("GET", `/api/v1/emails/${list.json.data[0].id}`)).json;
  };

  test.each(runnable)(
    "a send in %s",
    async (language) => {
      const key = `snippet in ${language}`;
      const example = { from: "hello@example.com", to: "ana@example.com", subject: "Your order", text: "Hi" };
      const out = await run(language, snippetsOf(documentWith(example, key), "sendEmail", app.url)[language]);
      expect(out).toContain("queued");
      expect(await emailOf(key)).toMatchObject({
        from: "hello@example.com",
        subject: "Your order",
        text: "Hi",
      });
    },
    PROGRAM_MS_MAX,
  );

  test.each(runnable)(
    "a send in %s carries whatever stands in its values, unchanged",
    async (language) => {
      const key = `evil '"$(id)\\ in ${language}`;
      const example = {
        from: "hello@example.com",
        to: "ana@example.com",
        subject: EVIL.replaceAll("\n", " "),
        text: EVIL,
        html: `<p>${EVIL}</p>`,
      };
      await run(language, snippetsOf(documentWith(example, key), "sendEmail", app.url)[language]);
      expect(await emailOf(key)).toMatchObject(example);
    },
    PROGRAM_MS_MAX,
  );

  test.each(runnable)(
    "reading a list, an action without a body, one that needs a filter, and what answers nothing, in %s",
    async (language) => {
      const document = documentWith({}, "unused-key");
      expect(await run(language, snippetsOf(document, "listEmails", app.url)[language])).toContain(
        "next_cursor",
      );
      expect(await run(language, snippetsOf(document, "pauseSending", app.url)[language])).toContain(
        "paused",
      );
      expect(await run(language, snippetsOf(document, "resumeSending", app.url)[language])).toContain(
        "active",
      );
      expect(await run(language, snippetsOf(document, "cancelEmails", app.url)[language])).toContain(
        "not_canceled",
      );
      await app.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
      await run(language, snippetsOf(document, "removeSuppression", app.url)[language]);
      expect((await app.call("GET", "/api/v1/suppressions/ana@example.com")).status).toBe(404);
    },
    PROGRAM_MS_MAX,
  );

  test("PHP stands in quotes in which nothing is replaced", () => {
    const key = "it's a \\ key";
    const example = { from: "hello@example.com", to: "ana@example.com", subject: "It's $5", text: "\\" };
    const { php } = snippetsOf(documentWith(example, key), "sendEmail", "https://mail.example.com");
    expect(php).toBe(`<?php
$request = curl_init('https://mail.example.com/api/v1/emails');
curl_setopt_array($request, [
    CURLOPT_CUSTOMREQUEST => 'POST',
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('POSTLEDGER_API_KEY'),
        'Idempotency-Key: it\\'s a \\\\ key',
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => <<<'JSON'
        {
          "from": "hello@example.com",
          "to": "ana@example.com",
          "subject": "It's $5",
          "text": "\\\\"
        }
        JSON,
]);
$answer = curl_exec($request);
echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), ' ', $answer;`);
  });
});
