import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { createDnsResolver } from "../../../src/adapters/dns/dnsResolver.ts";
import { findMailRecords, mailRecords } from "../../../src/commands/sender/mailDnsRecords.ts";
import { type DkimKey, dkimRecord } from "../../../src/kernel/crypto/dkimKeys.ts";
import type { DnsResolver } from "../../../src/ports/dnsResolver.ts";
import { type DnsAnswer, type NameServer, startNameServer } from "../../support/servers/nameServer.ts";

const PEM = { type: "pkcs8", format: "pem" } as const;
const KEY: DkimKey = {
  domain: "shop.acme.example",
  selector: "pl1",
  algorithm: "rsa-sha256",
  privateKey: generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export(PEM) as string,
};
const OWN = dkimRecord(KEY);
/** The value of p= of a new key. */
const rsaKey = (modulusLength: number, type: "spki" | "pkcs1" = "spki") =>
  generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ type, format: "der" }).toString("base64");
const ED25519_KEY = Buffer.alloc(32, 7).toString("base64");

describe("records of a domain", () => {
  let server: NameServer;
  let dns: DnsResolver;
  let answers: Record<string, DnsAnswer> = {};
  beforeAll(async () => {
    server = await startNameServer((name, type) =>
      type === "TXT" ? (answers[name] ?? "nxdomain") : "nxdomain",
    );
    dns = createDnsResolver([server.address]);
  });
  afterAll(() => server.stop());

  const find = async (records: Record<string, DnsAnswer>, selectors: readonly string[] = []) => {
    answers = records;
    const { domain } = KEY;
    const found = await findMailRecords(dns, { domain, envelopeDomain: domain, keys: [KEY], selectors });
    return found.map(({ kind, name, status }) => `${kind} ${name} ${status}`);
  };
  /** What is found of one record, as status and detail. */
  const findOne = async (name: string, record: string) => {
    answers = { [name]: [record.match(/.{1,200}/g) ?? []] };
    const { domain } = KEY;
    const found = await findMailRecords(dns, { domain, envelopeDomain: domain, keys: [], selectors: ["s1"] });
    const one = found.find((finding) => finding.name === name);
    return `${one?.status} ${one?.detail}`;
  };
  test.each([
    ["shop.acme.example", false],
    ["bounce.shop.acme.example", false],
    ["acme.example", false],
    ["bounce.other.example", true],
    ["pacme.example", true],
  ])("with a return path at %s may not align for DMARC: %p", async (envelopeDomain, mayNot) => {
    answers = { [envelopeDomain]: ["v=spf1 mx -all"] };
    const { domain } = KEY;
    const [spf] = await findMailRecords(dns, { domain, envelopeDomain, keys: [], selectors: [] });
    expect(spf?.status).toBe("ok");
    expect(spf?.detail).toStartWith("v=spf1 mx -all");
    expect(spf?.detail.includes("may not align")).toBe(mayNot);
  });

  const DKIM = "pl1._domainkey.shop.acme.example";
  const DMARC = "_dmarc.shop.acme.example";

  test("that publishes them all are found, a long key in pieces", async () => {
    const records = {
      "shop.acme.example": ["site-verification=1", "v=spf1 include:relay.example ~all"],
      [DKIM]: [OWN.value.match(/.{1,200}/g) ?? []],
      "s1._domainkey.shop.acme.example": [`k=rsa; p=${rsaKey(1_024)}`],
      [DMARC]: ["v=DMARC1; p=reject"],
    };
    expect(await find(records, ["s1"])).toEqual([
      "SPF shop.acme.example ok",
      `DKIM ${DKIM} ok`,
      "DKIM s1._domainkey.shop.acme.example ok",
      `DMARC ${DMARC} ok`,
    ]);
  });

  test("that publishes none are missing, and the findings say what to publish", async () => {
    expect(await find({})).toEqual([
      "SPF shop.acme.example missing",
      `DKIM ${DKIM} missing`,
      `DMARC ${DMARC} missing`,
    ]);
    expect(mailRecords({ domain: KEY.domain, envelopeDomain: "bounces.acme.example", keys: [KEY] })).toEqual([
      { kind: "SPF", name: "bounces.acme.example", value: expect.stringContaining("v=spf1 ") },
      { kind: "DKIM", ...OWN },
      { kind: "DMARC", name: DMARC, value: "v=DMARC1; p=none" },
    ]);
  });

  test("are wrong if one is there twice, revoked, or somebody else's", async () => {
    const spf = ["v=spf1 -all", "v=spf1 ~all"];
    const dmarc = ["v=DMARC1; p=none", "v=DMARC1; p=reject"];
    expect(await find({ "shop.acme.example": spf, [DKIM]: ["v=DKIM1; p="], [DMARC]: dmarc })).toEqual([
      "SPF shop.acme.example wrong",
      `DKIM ${DKIM} wrong`,
      `DMARC ${DMARC} wrong`,
    ]);
    const [, other] = await find({ [DKIM]: ["v=DKIM1; k=rsa; p=AAAA"] });
    expect(other).toBe(`DKIM ${DKIM} wrong`);
  });

  test.each([
    "v=spf1",
    "v=spf1 -all",
    "V=SPF1  A MX ?all ",
    "v=spf1 a:mail.acme.example/24//64 mx//48 ptr ptr:acme.example exists:%{i}._spf.%{d2r.} -all",
    "v=spf1 ip4:192.0.2.1 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~include:_spf.relay.example. ~all",
    "v=spf1 a:%{o}/16 include:%{d}.spf.relay.example redirect=_spf.acme.example",
    "v=spf1 future=any-thing exp=why.acme.example mx -all +all",
  ])("SPF %s is sound", async (record) => {
    expect(await findOne("shop.acme.example", record)).toBe(`ok ${record}`);
  });

  test.each([
    ["v=spf1 includ:relay.example ~al", "wrong includ:relay.example begins with none of"],
    ["v=spf1 include:relay.example ~al", "wrong ~al begins with none of"],
    ["v=spf1 include relay ~all", "wrong include lacks a value"],
    ["v=spf1 include: ~all", "wrong include: lacks a value"],
    ["v=spf1 include:relay ~all", "wrong include:relay lacks"],
    ["v=spf1 include:192.0.2.1 ~all", "wrong include:192.0.2.1 lacks"],
    ["v=spf1 ip4:192.0.2.256 ~all", "wrong ip4:192.0.2.256 lacks"],
    ["v=spf1 ip4:192.0.2.0/33 ~all", "wrong ip4:192.0.2.0/33 lacks"],
    ["v=spf1 ip6:192.0.2.1 ~all", "wrong ip6:192.0.2.1 lacks"],
    ["v=spf1 a/33 ~all", "wrong a/33 lacks"],
    ["v=spf1 exists:%{x}.acme.example ~all", "wrong exists:"],
    ["v=spf1 all:acme.example", "wrong all:acme.example lacks"],
    ["v=spf1 ,mx ~all", "wrong ,mx begins with none of"],
    ["v=spf1 redirect= ", "wrong redirect= has a value"],
    ["v=spf1 redirect=a.example redirect=b.example", "wrong redirect= is there more than once"],
    ["v=spf1 +all", "wrong +all lets everybody send"],
    ["v=spf1 mx all", "wrong all lets everybody send"],
  ])("SPF %s is not", async (record, found) => {
    expect(await findOne("shop.acme.example", record)).toStartWith(found);
  });

  test.each([
    ["v=DMARC1; p=none", "ok "],
    ["v=DMARC1;p=Reject ; sp=none; rua=mailto:a@acme.example;", "ok "],
    ["v=DMARC1", "wrong there is no p=, so receivers ignore the record"],
    ["v=DMARC1;p=nonsense", "wrong p=nonsense is no policy, so receivers ignore the record"],
    ["v=DMARC1; p=none; sp=no", "wrong sp=no is no policy, so receivers ignore the record"],
    ["v=DMARC1; rua=mailto:a@acme.example", "wrong there is no p=, so the record counts as p=none"],
    [
      "v=DMARC1; p=rejct; rua=nobody, mailto:a@acme.example",
      "wrong p=rejct is no policy, so the record counts",
    ],
    ["v=DMARC1; p=rejct; rua=nobody", "wrong p=rejct is no policy, so receivers ignore the record"],
  ])("DMARC %s is %s", async (record, found) => {
    expect(await findOne(DMARC, record)).toStartWith(found);
  });

  test.each([
    ["ok ", `v=DKIM1; k=rsa; p=${rsaKey(2_048)}`],
    ["ok ", `p=${rsaKey(1_024, "pkcs1")}`],
    ["ok ", `v=DKIM1; k=ed25519; p=${ED25519_KEY}`],
    ["wrong p= is not Base64", "v=DKIM1; k=rsa; p=!!notbase64"],
    ["wrong p= is not an RSA key", "v=DKIM1; k=rsa; p=AAAA"],
    ["wrong the key was revoked", "v=DKIM1; p="],
    ["wrong p= is not an Ed25519 key", `v=DKIM1; k=ed25519; p=${rsaKey(1_024)}`],
    ["wrong p= is not an RSA key", `v=DKIM1; k=rsa; p=${ED25519_KEY}`],
    ["wrong receivers do not know the type of key k=dsa", `v=DKIM1; k=dsa; p=${ED25519_KEY}`],
    ["wrong v=DKIM2 is not v=DKIM1", `v=DKIM2; p=${rsaKey(1_024)}`],
    ["wrong the key has 512 bits", `v=DKIM1; p=${rsaKey(512)}`],
    ["missing ", "v=DKIM1; k=rsa"],
  ])("a DKIM key is %s", async (found, record) => {
    expect(await findOne("s1._domainkey.shop.acme.example", record)).toStartWith(found);
  });

  test("do not count as missing if the name servers fail", async () => {
    const records = { "shop.acme.example": "servfail", [DKIM]: "refused", [DMARC]: "servfail" } as const;
    expect(await find(records)).toEqual([
      "SPF shop.acme.example unknown",
      `DKIM ${DKIM} unknown`,
      `DMARC ${DMARC} unknown`,
    ]);
  });

  test("for DMARC come from a domain above if there are none", async () => {
    const found = await find({ "_dmarc.acme.example": ["v=DMARC1; p=quarantine"] });
    expect(found.at(-1)).toBe("DMARC _dmarc.acme.example ok");
  });
});
