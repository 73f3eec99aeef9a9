import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { dkimKeyFault, dkimSigner } from "../../../src/adapters/mailauth/dkimSigner.ts";
import { buildMime } from "../../../src/adapters/nodemailer/mimeMessage.ts";
import { parseSmtpUrl } from "../../../src/adapters/nodemailer/parseSmtpUrl.ts";
import { createSmtpTransport } from "../../../src/adapters/nodemailer/smtpTransport.ts";
import { systemClock } from "../../../src/adapters/system/systemClock.ts";
import { type DkimKey, dkimAlgorithm, dkimRecord } from "../../../src/kernel/crypto/dkimKeys.ts";
import type { MailMessage } from "../../../src/ports/mail/mailTransport.ts";
import { sendWithin } from "../../support/mail/sendWithin.ts";
import { startSmtpSink } from "../../support/mail/smtpSink.ts";

const PEM = { type: "pkcs8", format: "pem" } as const;
const rsa = (bits: number) =>
  generateKeyPairSync("rsa", { modulusLength: bits }).privateKey.export(PEM) as string;
const ed25519 = () => generateKeyPairSync("ed25519").privateKey.export(PEM) as string;

function keyOf(domain: string, selector: string, privateKey: string): DkimKey {
  const algorithm = dkimAlgorithm(privateKey);
  if (algorithm === null) throw new Error("not a key");
  return { domain, selector, algorithm, privateKey };
}

const KEYS = [keyOf("example.com", "r1", rsa(2_048)), keyOf("example.com", "e1", ed25519())];

const MESSAGE: MailMessage = {
  id: "6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d",
  messageId: "<6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d@example.com>",
  date: Date.parse("2026-11-22T08:00:00Z"),
  from: "hello@example.com",
  fromName: "Bücher & Söhne",
  to: "ana@example.org",
  subject: "Grüße — a subject that is long enough to be folded over more than one line of the header",
  text: "Line one\n\n\n  trailing white space \t\nend\n\n",
  html: "<p>Größe</p>",
  headers: {
    "List-Unsubscribe": "<https://example.com/u>",
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    "Feedback-ID": "1:2:3",
  },
};

/** Verifies against the DNS records that the keys require. */
async function verified(mail: Uint8Array, keys = KEYS) {
  const records = new Map(keys.map(dkimRecord).map(({ name, value }) => [name, value]));
  const resolver = async (name: string) => {
    const value = records.get(name);
    if (value === undefined) throw Object.assign(new Error("none"), { code: "ENOTFOUND" });
    return [value.match(/.{1,255}/g) ?? []];
  };
  const { results } = await dkimVerify(Buffer.from(mail), { resolver });
  return results.map(({ status, algo, selector, signingDomain, signingHeaders }) => ({
    result: status.result,
    algo,
    selector: selector ?? "",
    signingDomain,
    headers: String(signingHeaders?.keys ?? "").toLowerCase(),
  }));
}

describe("signed mail", () => {
  test("passes with every key of its domain, RSA and Ed25519", async () => {
    const signed = await dkimSigner(KEYS).sign(buildMime(MESSAGE), MESSAGE.from);
    const results = await verified(signed);
    expect(
      results.map(({ headers: _, ...rest }) => rest).sort((a, b) => a.selector.localeCompare(b.selector)),
    ).toEqual([
      { result: "pass", algo: "ed25519-sha256", selector: "e1", signingDomain: "example.com" },
      { result: "pass", algo: "rsa-sha256", selector: "r1", signingDomain: "example.com" },
    ]);
    for (const { headers } of results)
      for (const name of [
        "from",
        "to",
        "subject",
        "list-unsubscribe",
        "list-unsubscribe-post",
        "feedback-id",
      ])
        expect(headers.split(/: ?/)).toContain(name);
  });

  test("fails once any signed part has changed", async () => {
    const signed = (await dkimSigner(KEYS).sign(buildMime(MESSAGE), MESSAGE.from)).toString("latin1");
    for (const [from, to] of [
      ["List-Unsubscribe=One-Click", "List-Unsubscribe=Two-Clicks"],
      ["<https://example.com/u>", "<https://example.net/u>"],
      ["Line one", "Line two"],
      ["To: ana@", "To: eve@"],
    ] as const) {
      expect(signed).toContain(from);
      const results = await verified(Buffer.from(signed.replace(from, to), "latin1"));
      expect(results.map(({ result }) => result)).not.toContain("pass");
    }
  });

  test("lists fields once more than they occur, so nobody can add another", async () => {
    const signed = (await dkimSigner(KEYS).sign(buildMime(MESSAGE), MESSAGE.from)).toString("latin1");
    const count = (names: readonly string[], header: string) =>
      names.filter((name) => name === header).length;
    const lists = [...signed.replace(/\r\n[ \t]+/g, " ").matchAll(/^DKIM-Signature:.*? h=([^;]*);/gm)].map(
      ([, list = ""]) => list.toLowerCase().split(/\s*:\s*/),
    );
    expect(lists).toHaveLength(KEYS.length);
    for (const names of lists) {
      for (const once of ["reply-to"]) expect(count(names, once)).toBe(1);
      for (const twice of ["from", "to", "subject", "list-unsubscribe", "list-unsubscribe-post"])
        expect(count(names, twice)).toBe(2);
    }
    for (const added of [
      "From: eve@example.net",
      "To: eve@example.net",
      "Subject: You have won",
      "Reply-To: eve@example.net",
      "List-Unsubscribe: <https://example.net/u>",
      "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    ])
      for (const mail of [`${added}\r\n${signed}`, signed.replace("\r\n\r\n", `\r\n${added}\r\n\r\n`)]) {
        const results = await verified(Buffer.from(mail, "latin1"));
        expect(results.map(({ result }) => result)).not.toContain("pass");
      }
    const prefixed = await verified(Buffer.from(`X-Relay: 1\r\n${signed}`, "latin1"));
    expect(prefixed.map(({ result }) => result)).toEqual(["pass", "pass"]);
  });

  test("is signed for the nearest domain that has keys, and left unsigned where none has", async () => {
    const mail = buildMime(MESSAGE);
    const signer = dkimSigner([...KEYS, keyOf("shop.example.com", "s1", ed25519())]);
    const domains = async (from: string) =>
      [...(await signer.sign(mail, from)).toString("latin1").matchAll(/ d=([^;]+);/g)].map(
        ([, domain]) => domain,
      );
    expect(await domains("a@news.example.com")).toEqual(["example.com", "example.com"]);
    expect(await domains("a@shop.example.com")).toEqual(["shop.example.com"]);
    expect(await signer.sign(mail, "a@example.net")).toEqual(mail);
    expect(await signer.sign(mail, "a@notexample.com")).toEqual(mail);
  });

  test("is sent signed, unless the relay signs by itself", async () => {
    const sink = await startSmtpSink();
    for (const [query, results] of [
      ["", ["pass", "pass"]],
      ["?dkim=off", ["none"]],
    ] as const) {
      const relay = parseSmtpUrl(`smtp://127.0.0.1:${sink.port}${query}`);
      const transport = createSmtpTransport({ ...relay, signer: dkimSigner(KEYS) }, systemClock);
      const opened = await transport.session(AbortSignal.timeout(10_000));
      if (opened.kind !== "session") throw new Error(opened.reason);
      expect(await opened.session.send(MESSAGE, sendWithin(systemClock, 10_000))).toMatchObject({
        kind: "accepted",
      });
      opened.session.release();
      await transport.close();
      const raw = sink.record.messages.at(-1)?.raw ?? Buffer.alloc(0);
      expect((await verified(raw)).map(({ result }) => result)).toEqual([...results]);
    }
    await sink.close();
  });
});

describe("a key", () => {
  test("is tried: it signs what its record verifies", async () => {
    for (const key of KEYS) expect(await dkimKeyFault(key)).toBeNull();
    const [rsaKey] = KEYS;
    if (rsaKey === undefined) throw new Error("the key is missing");
    expect(await dkimKeyFault({ ...rsaKey, algorithm: "ed25519-sha256" })).not.toBeNull();
  });

  test("is RSA of 1,024 bits at least, or Ed25519, in PEM as it is", () => {
    expect(dkimAlgorithm(rsa(1_024))).toBe("rsa-sha256");
    expect(dkimAlgorithm(ed25519())).toBe("ed25519-sha256");
    expect(dkimAlgorithm(rsa(512))).toBeNull();
    expect(dkimAlgorithm(ed25519().replaceAll("\n", "\\n"))).toBeNull();
    const ecKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export(PEM) as string;
    expect(dkimAlgorithm(ecKey)).toBeNull();
    expect(dkimAlgorithm("")).toBeNull();
  });
});
