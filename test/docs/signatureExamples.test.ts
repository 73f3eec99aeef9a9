import { beforeAll, describe, expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { webhookSecretText, webhookSignature } from "../../src/kernel/crypto/webhookSignature.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { blockWith } from "./pages.ts";

const PAGE = "docs/receiving-webhooks.md";
/** Its Base64 has the characters that text in a URL would not have. */
const KEY = new Uint8Array(32).fill(0xfe);
const SECRET = webhookSecretText(KEY);
const ID = "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a";
const BODY = '{"type":"email.sent","data":{"name":"Zoë"}}';

const folder = temporaryFolder();
beforeAll(async () => {
  await writeFile(join(folder, "body.json"), BODY);
});

async function output(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = {
    cwd: folder,
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, ...env },
  } as const;
  return new Response(Bun.spawn([...words], options).stdout).text();
}

const now = Math.floor(Date.now() / 1_000);
const signedAt = (timestampSeconds: number) =>
  webhookSignature([KEY], { id: ID, timestampSeconds, body: BODY });
const call = { "webhook-id": ID, "webhook-timestamp": String(now), "webhook-signature": signedAt(now) };
/** What a receiver is to say of each call. */
const CALLS = [
  { says: true, headers: call, body: BODY },
  {
    says: true,
    headers: { ...call, "webhook-signature": `v1,AAAA ${call["webhook-signature"]}` },
    body: BODY,
  },
  { says: false, headers: call, body: `${BODY} ` },
  { says: false, headers: { ...call, "webhook-id": "another" }, body: BODY },
  { says: false, headers: { ...call, "webhook-timestamp": String(now + 1) }, body: BODY },
  { says: false, headers: { ...call, "webhook-timestamp": "soon" }, body: BODY },
  { says: false, headers: { ...call, "webhook-signature": "v1,AAAA" }, body: BODY },
  { says: false, headers: {}, body: BODY },
  {
    says: false,
    headers: {
      ...call,
      "webhook-timestamp": String(now - 301),
      "webhook-signature": signedAt(now - 301),
    },
    body: BODY,
  },
];
const EXPECTED = CALLS.map(({ says }) => says);

describe("the examples that verify a signature without a library", () => {
  test("in JavaScript accept what we have signed, and nothing else", async () => {
    const program = `console.log(JSON.stringify(${JSON.stringify(CALLS)}.map(({ headers, body }) =>
      isSigned(${JSON.stringify(SECRET)}, headers, Buffer.from(body)))))`;
    await writeFile(join(folder, "signed.mjs"), `${blockWith(PAGE, "js", "createHmac")}\n${program}\n`);
    expect(JSON.parse(await output([process.execPath, "signed.mjs"]))).toEqual(EXPECTED);
  });

  test.skipIf(Bun.which("python3") === null)("in Python do so too", async () => {
    const program = `import json, sys
print(json.dumps([is_signed(sys.argv[1], call["headers"], call["body"].encode()) for call in json.loads(sys.argv[2])]))`;
    await writeFile(join(folder, "signed.py"), `${blockWith(PAGE, "python", "hmac")}\n${program}\n`);
    expect(JSON.parse(await output(["python3", "signed.py", SECRET, JSON.stringify(CALLS)]))).toEqual(
      EXPECTED,
    );
  });

  test.skipIf(Bun.which("openssl") === null)("in a shell print the signature", async () => {
    const env = { WEBHOOK_ID: ID, WEBHOOK_TIMESTAMP: String(now), WEBHOOK_SECRET: SECRET };
    expect(await output(["sh", "-c", blockWith(PAGE, "sh", "openssl")], env)).toBe(
      `${call["webhook-signature"].slice("v1,".length)}\n`,
    );
  });
});
