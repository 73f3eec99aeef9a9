import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDnsResolver } from "../../src/adapters/dns/dnsResolver.ts";
import { type DnsResolver, DnsUnavailableError } from "../../src/ports/dnsResolver.ts";
import { type DnsAnswer, type DnsServer, startDnsServer } from "../support/dnsServer.ts";

const NAME = "_postledger.example.com";
const TIMEOUT_MS = 5_000;

let server: DnsServer;
let dns: DnsResolver;
beforeAll(async () => {
  server = await startDnsServer();
  dns = createDnsResolver([server.address]);
});
afterAll(() => server.close());

const resolve = (answer: DnsAnswer, timeoutMs = TIMEOUT_MS) => {
  server.zone.set(NAME, answer);
  return dns.resolveTxt(NAME, timeoutMs);
};
const many = Array.from({ length: 20 }, (_, index) => `record number ${index}`);

test.each<[string, DnsAnswer, readonly string[] | "none"]>([
  ["one record", [["a value"]], ["a value"]],
  ["many records", many.map((text) => [text]), many],
  ["the strings of one record, in their order", [["a ", "value", ""]], ["a ", "value", ""]],
  ["a string of 255 characters", [["x".repeat(255)]], ["x".repeat(255)]],
  ["a name that does not exist", "NXDOMAIN", "none"],
  ["a name without such records", [], "none"],
])("%s", async (_, answer, expected) => {
  expect(await resolve(answer)).toEqual(expected);
  // And no other name, whatever the machine's search list.
  expect(server.asked.at(-1)).toBe(NAME);
});

test.each<[string, DnsAnswer]>([
  ["SERVFAIL", "SERVFAIL"],
  ["REFUSED", "REFUSED"],
])("%s is no answer", async (_, answer) => {
  await expect(resolve(answer)).rejects.toBeInstanceOf(DnsUnavailableError);
});

test("a server that says nothing is given up in time, and the next answer is a new one", async () => {
  await expect(resolve("silence", 100)).rejects.toThrow("took too long");
  expect(await resolve([["later"]])).toEqual(["later"]);
  expect(await resolve([["newer"]])).toEqual(["newer"]);
});

test("a port where nobody listens is no answer", async () => {
  const gone = await startDnsServer();
  gone.close();
  const resolver = createDnsResolver([gone.address]);
  await expect(resolver.resolveTxt(NAME, 100)).rejects.toBeInstanceOf(DnsUnavailableError);
});
