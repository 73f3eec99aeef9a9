import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Resolver } from "node:dns/promises";
import type { ServerResponse } from "node:http";
import { request } from "node:https";
import { createServer, type Server } from "node:net";
import type { Writable } from "node:stream";
import { ssrfCheck } from "../../../src/adapters/https/ssrfGuard.ts";
import { webhookTransport } from "../../../src/adapters/https/webhookTransport.ts";
import { readDestination } from "../../../src/domain/webhook/webhookUrl.ts";
import type { WebhookOutcome } from "../../../src/kernel/outcome/webhookOutcome.ts";
import type { WebhookTransport } from "../../../src/ports/webhookTransport.ts";
import { type DnsAnswer, type NameServer, startNameServer } from "../../support/servers/nameServer.ts";
import { until } from "../../support/until.ts";
import { RECEIVER_CERTIFICATE } from "../../support/webhook/receiverCertificate.ts";
import {
  type ReceivedCall,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/webhook/webhookReceiver.ts";

const NEVER = new AbortController().signal;

function transportTo(dns: NameServer, allowed: readonly string[] = []): WebhookTransport {
  return webhookTransport({
    dnsServers: [dns.address],
    allowedPrivateHosts: new Set(allowed),
    certificateAuthorities: RECEIVER_CERTIFICATE,
    callTimeoutMs: 4_000,
  });
}

function callTo(transport: WebhookTransport, url: string, signal = NEVER): Promise<WebhookOutcome> {
  return transport.call({ url, headers: { "webhook-id": "id" }, body: Buffer.from("{}") }, signal);
}

describe("a webhook call", () => {
  let receiver: WebhookReceiver;
  let dns: NameServer;
  let transport: WebhookTransport;
  const drips = new Set<Timer>();
  /** Writes `bytes` again and again until the other side hangs up. */
  const drip = (response: ServerResponse, to: Writable, bytes: Buffer) => {
    const timer = setInterval(() => to.write(bytes), 1);
    drips.add(timer);
    response.on("close", () => {
      clearInterval(timer);
      drips.delete(timer);
    });
  };
  let stallEnd = 0;
  const handlers: Record<string, (response: ServerResponse) => void> = {
    "/redirect": (response) => response.writeHead(302, { location: "https://receiver.example.org/" }).end(),
    "/later": (response) => response.writeHead(429, { "retry-after": "17" }).end("slow down"),
    "/date": (response) =>
      response.writeHead(503, { "retry-after": new Date(Date.now() + 60_000).toUTCString() }).end(),
    "/stall": (response) => {
      response.end("thank you");
      // The answer waits in the socket while the thread is busy.
      while (performance.now() < stallEnd);
    },
    "/nonsense": (response) => response.writeHead(503, { "retry-after": "soon" }).end(),
    "/cut": (response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      response.socket?.destroy();
    },
    "/endless": (response) => drip(response, response, Buffer.alloc(65_536)),
    "/tiny": (response) => {
      const chunks = "1\r\na\r\n".repeat(16_383);
      response.socket?.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    },
  };
  const NEVER_A_BODY: Readonly<Record<string, readonly [first: string, repeated: string]>> = {
    "/continue": ["", "HTTP/1.1 100 Continue\r\n\r\n"],
    "/hints": ["", "HTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n"],
    "/blank": ["", "\r\n"],
    "/zeros": ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "0"],
  };
  for (const [path, [first, repeated]] of Object.entries(NEVER_A_BODY)) {
    handlers[path] = (response) => {
      const { socket } = response;
      socket?.write(first);
      if (socket) drip(response, socket, Buffer.from(repeated.repeat(1_024)));
    };
  }
  const answer = ({ path }: ReceivedCall, response: ServerResponse) => {
    const handler = handlers[path];
    if (handler) handler(response);
    else if (path !== "/hang") response.end("thank you");
  };
  const url = (path: string, host = "receiver.example.org") => `https://${host}:${receiver.port}${path}`;

  beforeAll(async () => {
    receiver = await startWebhookReceiver(answer);
    dns = await startNameServer((_name, type) => (type === "A" ? ["127.0.0.1"] : []));
    const names = ["receiver.example.org", "other.example.net"];
    transport = transportTo(dns, [
      ...names.map((name) => `${name}:${receiver.port}`),
      "receiver.example.org:1",
    ]);
  });
  afterAll(() => {
    receiver.stop();
    dns.stop();
  });

  test("arrives with its headers and its bytes, and brings the answer back", async () => {
    const outcome = await callTo(transport, url("/hook?a=b"));
    expect(outcome).toMatchObject({ kind: "answered", statusCode: 200, body: "thank you" });
    const call = receiver.calls.at(-1);
    expect(call).toMatchObject({ path: "/hook?a=b", body: "{}" });
    expect(call?.headers).toMatchObject({ "webhook-id": "id", connection: "close", "content-length": "2" });
  });

  test("does not follow a redirection", async () => {
    const calls = receiver.calls.length;
    expect(await callTo(transport, url("/redirect"))).toMatchObject({ kind: "answered", statusCode: 302 });
    expect(receiver.calls.length).toBe(calls + 1);
  });

  test("returns Retry-After in seconds", async () => {
    expect(await callTo(transport, url("/later"))).toMatchObject({ retryAfterSeconds: 17 });
    const dated = await callTo(transport, url("/date"));
    expect(dated.kind === "answered" && dated.retryAfterSeconds).toBeWithin(50, 62);
    expect(await callTo(transport, url("/nonsense"))).toMatchObject({ retryAfterSeconds: null });
  });

  test("reads only the beginning of an endless answer, and hangs up", async () => {
    const outcome = await callTo(transport, url("/endless"));
    expect(outcome).toMatchObject({ kind: "answered", statusCode: 200 });
    expect(outcome.kind === "answered" && outcome.body.length).toBe(16_384);
    await until(() => drips.size === 0, "the receiver to see the connection close");
  });

  test.each(Object.keys(NEVER_A_BODY))("fails when no body follows %s, and hangs up", async (path) => {
    const outcome = await callTo(transport, url(path));
    expect(outcome).toMatchObject({ kind: "failed", reason: "broken_answer" });
    await until(() => drips.size === 0, "the receiver to see the connection close");
  });

  test("reads a body that comes in chunks of one byte", async () => {
    const outcome = await callTo(transport, url("/tiny"));
    expect(outcome).toMatchObject({ kind: "answered", statusCode: 200, body: "a".repeat(16_383) });
  });

  test("fails when its answer is incomplete", async () => {
    expect(await callTo(transport, url("/cut"))).toMatchObject({ kind: "failed", reason: "broken_answer" });
  });

  const withTimeout = (callTimeoutMs: number) =>
    webhookTransport({
      dnsServers: [dns.address],
      allowedPrivateHosts: new Set([`receiver.example.org:${receiver.port}`]),
      certificateAuthorities: RECEIVER_CERTIFICATE,
      callTimeoutMs,
    });

  test("fails when no answer comes in time", async () => {
    expect(await callTo(withTimeout(300), url("/hang"))).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("is answered by what is in the socket, unread, when its time is over", async () => {
    const timeoutMs = 1_000;
    stallEnd = performance.now() + 2 * timeoutMs;
    const outcome = await callTo(withTimeout(timeoutMs), url("/stall"));
    expect(outcome).toMatchObject({ kind: "answered", statusCode: 200, body: "thank you" });
  });

  test("fails when the service stops before an answer comes", async () => {
    const ending = new AbortController();
    const calls = receiver.calls.length;
    const answered = callTo(transport, url("/hang"), ending.signal);
    await until(() => receiver.calls.length > calls, "the call");
    ending.abort();
    expect(await answered).toMatchObject({ kind: "failed", reason: "interrupted" });
    expect(await callTo(transport, url("/"), ending.signal)).toMatchObject({ kind: "notSent" });
  });

  test("needs a certificate for the name that was called", async () => {
    const calls = receiver.calls.length;
    const other = await callTo(transport, url("/", "other.example.net"));
    expect(other).toMatchObject({ kind: "failed", reason: "tls" });
    const withoutCa = webhookTransport({
      dnsServers: [dns.address],
      allowedPrivateHosts: new Set([`receiver.example.org:${receiver.port}`]),
      certificateAuthorities: null,
      callTimeoutMs: 4_000,
    });
    expect(await callTo(withoutCa, url("/"))).toMatchObject({ kind: "failed", reason: "tls" });
    expect(receiver.calls.length).toBe(calls);
  });

  test("fails to connect to a closed port", async () => {
    const closed = await callTo(transport, "https://receiver.example.org:1/");
    expect(closed).toMatchObject({ kind: "failed", reason: "connect" });
  });

  test.each(["nxdomain", "servfail", "silent"] as const)(
    "fails for a name whose servers answer %s",
    async (answer) => {
      const server = await startNameServer(() => answer);
      const outcome = await callTo(transportTo(server), "https://receiver.example.org/");
      server.stop();
      expect(outcome).toMatchObject({ kind: "failed", reason: "dns" });
    },
    60_000,
  );

  test("ends in time when several name servers are silent", async () => {
    const servers = await Promise.all(Array.from({ length: 3 }, () => startNameServer(() => "silent")));
    const withShortTimeout = webhookTransport({
      dnsServers: servers.map(({ address }) => address),
      allowedPrivateHosts: new Set(),
      certificateAuthorities: null,
      callTimeoutMs: 300,
    });
    const outcome = await callTo(withShortTimeout, "https://receiver.example.org/");
    for (const server of servers) server.stop();
    expect(outcome).toMatchObject({ kind: "failed", reason: "dns" });
    expect(outcome.durationMs).toBeLessThan(5_000);
  });
});

/** Addresses that are not of the public internet, the edges of their ranges among them. */
const NOT_PUBLIC_V4 = [
  ...["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255"],
  ...["127.0.0.1", "127.0.0.2", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255"],
  ...["172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.1", "192.88.99.1", "192.168.0.0"],
  ...["192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1"],
  ...["168.63.129.16", "192.31.196.0", "192.31.196.255", "192.52.193.1", "192.88.99.0", "192.175.48.48"],
  ...["239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255"],
];
const NOT_PUBLIC_V6 = [
  ...["::", "::1", "::7f00:1", "::ffff:7f00:1", "::ffff:a00:1", "::ffff:808:808", "64:ff9b::7f00:1"],
  ...[
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "2001:10::1",
  ],
  ...["2620:4f:8000::1", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", "3ffe::1"],
  ...["2001:20::1", "2002:7f00:1::1", "2002:a00:1::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fdff::1"],
  ...["fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1", "4000::1", "8000::1", "f000::1"],
];
const PUBLIC_V4 = "8.8.8.8";
const PUBLIC_V6 = "2606:4700::1111";

/** Name server answers that must prevent a call, by name. */
function hostileZones(): ReadonlyMap<string, { readonly a: DnsAnswer; readonly aaaa: DnsAnswer }> {
  const zones = new Map<string, { readonly a: DnsAnswer; readonly aaaa: DnsAnswer }>();
  const add = (a: DnsAnswer, aaaa: DnsAnswer) =>
    zones.set(`h${zones.size}.receiver.example.org`, { a, aaaa });
  for (const address of NOT_PUBLIC_V4) {
    add([address], []);
    add([PUBLIC_V4, address], []);
    add([address, PUBLIC_V4], []);
    add([address], [PUBLIC_V6]);
    add([address], "nxdomain");
    add([address], "servfail");
  }
  for (const address of NOT_PUBLIC_V6) {
    add([], [address]);
    add([PUBLIC_V4], [address]);
    add([PUBLIC_V4], [PUBLIC_V6, address]);
    add("nxdomain", [address]);
  }
  return zones;
}

/** Destinations that must not even be registered. */
function hostileUrls(): readonly string[] {
  const hosts = [
    ...NOT_PUBLIC_V4,
    ...NOT_PUBLIC_V6.map((address) => `[${address}]`),
    ...["[::ffff:127.0.0.1]", "[::127.0.0.1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]"],
    ...["0x7f.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1"],
    ...["0", "0x0", "1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "127.0.0.1.", "%31%32%37.0.0.1"],
    ...[
      "localhost",
      "LOCALHOST",
      "localhost.",
      "ｌocalhost",
      "foo.localhost",
      "a.b.localhost.",
      "printer.local",
    ],
    ...[
      "db.internal",
      "metadata.google.internal",
      "x.home.arpa",
      "x.test",
      "x.invalid",
      "x.onion",
      "intranet",
    ],
    ...["8.8.8.8", "[2606:4700::1111]", "134744072", "0x08080808"],
  ];
  const oddHosts = [
    "http://example.com/",
    "https://example.com:8443/",
    "https://example.com:80/",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://example.com@127.0.0.1/",
    "https://127.0.0.1#@example.com/",
    "https://127.0.0.1\\@example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "data:text/plain,x",
    "javascript:alert(1)",
    "//example.com/",
    "https:///",
    "https://",
    "https://.example.com/",
    "https://exa mple.com/",
    "https://example..com/",
    "https://example.com:0/",
    "https://example.com:65536/",
    "",
  ];
  const forms = (host: string) => [
    `https://${host}/`,
    `https://${host}:443/`,
    `https://user@${host}/`,
    `http://${host}/`,
  ];
  return [...hosts.flatMap(forms), ...oddHosts];
}

describe("hostile destinations", () => {
  const zones = hostileZones();
  let canary: Server;
  let port = 0;
  let hits = 0;
  let dns: NameServer;

  beforeAll(async () => {
    canary = createServer((socket) => {
      hits += 1;
      socket.destroy();
    });
    // On every address of this machine, so it catches every stray call.
    await new Promise<void>((resolve) => canary.listen(0, "::", resolve));
    port = (canary.address() as { port: number }).port;
    dns = await startNameServer((name, type) => {
      const zone = zones.get(name);
      if (!zone) return "nxdomain";
      return type === "A" ? zone.a : zone.aaaa;
    });
  });
  afterAll(() => {
    canary.close();
    dns.stop();
  });

  test("are at least 500", () => {
    expect(hostileUrls().length + zones.size).toBeGreaterThanOrEqual(500);
  });

  test("reach the canary when a naive client calls them", async () => {
    const resolver = new Resolver();
    resolver.setServers([dns.address]);
    const [host] = [...zones].find(([, { a }]) => a[0] === "127.0.0.1") ?? [];
    const [address = ""] = await resolver.resolve4(String(host));
    const call = request({ host: address, port, method: "POST", rejectUnauthorized: false });
    call.on("error", () => {});
    call.end();
    await until(() => hits > 0, "the canary to be reached");
    hits = 0;
  });

  test.each(hostileUrls())("%j is not registered", (url) => {
    expect(readDestination(url)).toHaveProperty("fault");
  });

  test("are never connected to, whatever their name servers say", async () => {
    const transport = transportTo(dns);
    for (const host of zones.keys()) {
      const outcome = await callTo(transport, `https://${host}:${port}/`);
      const reason = outcome.kind === "failed" ? outcome.reason : outcome.kind;
      expect(["dns", "destination_not_public"], host).toContain(reason);
    }
    expect(hits).toBe(0);
  }, 60_000);

  test("are not connected to when the name server changes its mind after it was asked", async () => {
    const receiver = await startWebhookReceiver();
    const canaryHits = hits;
    const host = "rebind.receiver.example.org";
    // Nothing outside of this machine may be called, so the address that is vetted is a loopback one that is allowed.
    const answers: Record<string, DnsAnswer>[] = [
      { A: ["127.0.0.1"], AAAA: [] },
      { A: [], AAAA: ["::1"] },
      { A: ["169.254.169.254"], AAAA: [] },
    ];
    let turn = 0;
    let queries = 0;
    const server = await startNameServer((_name, type) => {
      queries += 1;
      const reply = answers[turn]?.[type] ?? "nxdomain";
      if (queries % 2 === 0) turn += 1;
      return reply;
    });
    const transport = transportTo(server, [`${host}:${receiver.port}`]);
    const url = `https://${host}:${receiver.port}/`;
    expect(await callTo(transport, url)).toMatchObject({ kind: "answered", statusCode: 200 });
    expect(queries).toBe(2);
    // The next attempt resolves again: the name now leads where nothing listens, then to a refused address.
    expect(await callTo(transport, url)).toMatchObject({ kind: "failed", reason: "connect" });
    expect(await callTo(transport, url)).toMatchObject({ kind: "failed", reason: "destination_not_public" });
    expect(receiver.calls.length).toBe(1);
    expect(hits).toBe(canaryHits);
    receiver.stop();
    server.stop();
  });

  test.each(["169.254.169.254", "168.63.129.16"])("on %s are refused in development too", async (address) => {
    const host = [...zones].find(([, { a }]) => a[0] === address)?.[0] ?? "";
    const transport = transportTo(dns, [`${host}:${port}`]);
    expect(await callTo(transport, `https://${host}:${port}/`)).toMatchObject({
      reason: "destination_not_public",
    });
  });

  test("are recognised when they are named; names that do not resolve are not", async () => {
    const { isPrivate } = ssrfCheck({
      dnsServers: [dns.address],
      allowedPrivateHosts: new Set(["localhost:443"]),
    });
    for (const [host, { a, aaaa }] of zones) {
      const isAnswered = a !== "servfail" && aaaa !== "servfail";
      expect(await isPrivate(`https://${host}/`), host).toBe(isAnswered);
    }
    expect(await isPrivate("https://nobody.example.org/")).toBeFalse();
    expect(await isPrivate("https://localhost/")).toBeFalse();
    expect(await isPrivate("https://localhost:444/")).toBeTrue();
    const silent = await startNameServer(() => "silent");
    const waiting = ssrfCheck({ dnsServers: [silent.address], allowedPrivateHosts: new Set() });
    expect(await waiting.isPrivate("https://nobody.example.org/")).toBeFalse();
    silent.stop();
  });

  test("on this machine are called over HTTP only where exactly that host and port is listed", async () => {
    const calls: string[] = [];
    const receiver = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(call) {
        calls.push(`${call.headers.get("host")} ${await call.text()}`);
        return new Response("thank you");
      },
    });
    const at = `localhost:${receiver.port}`;
    const listed = transportTo(dns, [at, `127.0.0.1:${receiver.port}`]);
    for (const host of [at, `127.0.0.1:${receiver.port}`]) {
      expect(readDestination(`http://${host}/hook`, new Set([host]))).toEqual({ url: `http://${host}/hook` });
      expect(await callTo(listed, `http://${host}/hook`)).toMatchObject({
        kind: "answered",
        statusCode: 200,
      });
      expect(calls.splice(0)).toEqual([`${host} {}`]);
      expect(await callTo(transportTo(dns, ["localhost:1"]), `http://${host}/`)).toMatchObject({
        kind: "failed",
        reason: "destination_not_public",
      });
    }
    for (const url of [
      `http://${at}/`,
      "http://localhost:2/",
      "http://hooks.example.org:4443/",
      `http://user@localhost:1/`,
      "http://[::1]:1/",
      "ftp://localhost:1/",
    ]) {
      const listed = new Set(["localhost:1", "hooks.example.org:4443"]);
      expect(readDestination(url, listed), url).toHaveProperty("fault");
    }
    expect(await callTo(transportTo(dns, ["localhost:1"]), "http://localhost:1/")).toMatchObject({
      kind: "failed",
      reason: "connect",
    });
    expect(calls).toEqual([]);
    await receiver.stop(true);
  });
});
