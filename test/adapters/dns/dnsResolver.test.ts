import { afterAll, beforeAll, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
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
  await expect(resolve("silent", 100)).rejects.toThrow("DNS did not answer within 0.1 s");
  expect(await resolve([["later"]])).toEqual(["later"]);
  expect(await resolve([["newer"]])).toEqual(["newer"]);
});

test("a port where nothing listens is no answer", async () => {
  const stopped = await startNameServer(() => "silent");
  stopped.stop();
  const resolver = createDnsResolver([stopped.address]);
  await expect(resolver.resolveTxt(NAME, 100)).rejects.toBeInstanceOf(DnsUnavailableError);
});

test("the tests' name server goes on answering after a client that was gone before its answer", async () => {
  const [host = "", port = ""] = server.address.split(":");
  // Header with one question, then `a`, type TXT, class IN.
  const query = Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 16, 0, 1]);
  const asked = server.questions.length;
  for (let clients = 0; clients < 3; clients++) {
    const client = createSocket("udp4");
    await new Promise<void>((sent) => client.send(query, Number(port), host, () => sent()));
    client.close();
  }
  expect(await resolve([["still here"]])).toEqual(["still here"]);
  expect(server.questions.length).toBe(asked + 4);
});
