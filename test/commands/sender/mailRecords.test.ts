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
  const DKIM = "pl1._domainkey.shop.acme.example";
  const DMARC = "_dmarc.shop.acme.example";

  test("that publishes them all are found, a long key in pieces", async () => {
    const records = {
      "shop.acme.example": ["site-verification=1", "v=spf1 include:relay.example ~all"],
      [DKIM]: [OWN.value.match(/.{1,200}/g) ?? []],
      "s1._domainkey.shop.acme.example": ["k=rsa; p=AAAA"],
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
