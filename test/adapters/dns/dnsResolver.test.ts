import { afterAll, beforeAll, expect, test } from "bun:test";
import { createDnsResolver } from "../../../src/adapters/dns/dnsResolver.ts";
import { type DnsResolver, DnsUnavailableError } from "../../../src/ports/dnsResolver.ts";
import { type DnsAnswer, type NameServer, startNameServer } from "../../support/servers/nameServer.ts";

const NAME = "_postledger.example.com";
const TIMEOUT_MS = 5_000;

let server: NameServer;
let reply: DnsAnswer = "nxdomain";
let dns: DnsResolver;
beforeAll(async () => {
  server = await startNameServer((name, type) => (name === NAME && type === "TXT" ? reply : "nxdomain"));
  dns = createDnsResolver([server.address]);
});
afterAll(() => server.stop());

const resolve = (answer: DnsAnswer, timeoutMs = TIMEOUT_MS) => {
  reply = answer;
  return dns.resolveTxt(NAME, timeoutMs);
};
const many = Array.from({ length: 20 }, (_, index) => `record number ${index}`);

test.each<[string, DnsAnswer, readonly string[] | "none" | "failing"]>([
  ["one record", [["a value"]], ["a value"]],
  ["many records", many.map((text) => [text]), many],
  ["the strings of one record, in their order", [["a ", "value", ""]], ["a ", "value", ""]],
  ["a string of 255 characters", [["x".repeat(255)]], ["x".repeat(255)]],
  ["a name that does not exist", "nxdomain", "none"],
  ["a name without such records", [], "none"],
  ["a name whose zone is in trouble", "servfail", "failing"],
])("%s", async (_, answer, expected) => {
  expect(await resolve(answer)).toEqual(expected);
  // And no other name, whatever the machine's search list.
  expect(server.questions.at(-1)).toBe(`TXT ${NAME}`);
});

test("REFUSED is no answer", async () => {
  await expect(resolve("refused")).rejects.toBeInstanceOf(DnsUnavailableError);
});

test("a silent server times out, and every later call gets its own answer", async () => {
  await expect(resolve("silent", 100)).rejects.toThrow("took too long");
  expect(await resolve([["later"]])).toEqual(["later"]);
  expect(await resolve([["newer"]])).toEqual(["newer"]);
});

test("a port where nothing listens is no answer", async () => {
  const stopped = await startNameServer(() => "silent");
  stopped.stop();
  const resolver = createDnsResolver([stopped.address]);
  await expect(resolver.resolveTxt(NAME, 100)).rejects.toBeInstanceOf(DnsUnavailableError);
});
