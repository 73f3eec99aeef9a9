import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WEBHOOK_POLICY } from "../../src/domain/webhookDelivery/retrySchedule.ts";
import { openRelays } from "../../src/service/adapters/openMailTransport.ts";
import { type Config, readConfig } from "../../src/service/config/config.ts";
import { ConfigError } from "../../src/service/config/configError.ts";
import { runJsonCommand } from "../support/process/jsonCommand.ts";
import { COMMAND_LINE } from "../support/process/program.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { sendgridKeys } from "../support/signedReports.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/webhook/receiverCertificate.ts";

type Environment = Readonly<Record<string, string>>;

const KEY = Buffer.alloc(32, 7).toString("base64");
const ESDB = "esdb://127.0.0.1:2113?tls=false";

/** What is wrong with these settings, one line each. */
function errorsOf(env: Environment): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
}

/** Runs `work` with a file that holds `text`. */
function withFile<Result>(text: string, work: (path: string) => Result): Result {
  const directory = mkdtempSync(join(tmpdir(), "postledger-test-"));
  const path = join(directory, "secret");
  try {
    writeFileSync(path, text);
    return work(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe("settings", () => {
  test("are all optional", () => {
    const config = readConfig({});
    const mailRoute = { kind: "outbox", directory: null };
    expect(config).toMatchObject({
      host: "127.0.0.1",
      port: 3000,
      isTrial: true,
      bootstrap: true,
      mailRoute,
    });
    expect(config.storeUrl).toBe(`file:${config.dataDir}`);
    expect(config.masterKey).toBeNull();
  });

  test("name keys for DKIM of either kind, each selector once", () => {
    for (const [type, algorithm] of [
      ["rsa", "rsa-sha256"],
      ["ed25519", "ed25519-sha256"],
    ] as const) {
      const pair =
        type === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 1_024 })
          : generateKeyPairSync("ed25519");
      withFile(pair.privateKey.export({ type: "pkcs8", format: "pem" }) as string, (path) => {
        const entry = `Example.com:S1:${path}`;
        expect(readConfig({ DKIM_KEYS: entry }).dkimKeys).toMatchObject([
          { domain: "example.com", selector: "s1", algorithm },
        ]);
        expect(errorsOf({ DKIM_KEYS: `${entry},${entry}` })).toEqual([
          "DKIM_KEYS must not name s1._domainkey.example.com twice",
        ]);
      });
    }
  });

  test("take mail over SMTP in clear text on loopback alone", () => {
    expect(readConfig({}).submission).toBeNull();
    const open = { SUBMISSION_PORT: "587", SUBMISSION_HOST: "0.0.0.0", SMTP_URL: "outbox:" };
    expect(errorsOf(open)).toEqual([expect.stringContaining("SUBMISSION_TLS_CERT_FILE")]);
    expect(readConfig({ SUBMISSION_PORT: "587" }).submission).toEqual({
      host: "127.0.0.1",
      port: 587,
      tls: null,
    });
    const [cert, key] = [RECEIVER_CERTIFICATE, RECEIVER_KEY];
    withFile(cert, (SUBMISSION_TLS_CERT_FILE) => {
      expect(errorsOf({ ...open, SUBMISSION_TLS_CERT_FILE })).toEqual([
        "SUBMISSION_TLS_CERT_FILE and SUBMISSION_TLS_KEY_FILE must be set together",
      ]);
      for (const SUBMISSION_TLS of ["starttls", "implicit"]) {
        const unreadable = { SUBMISSION_TLS_CERT_FILE, SUBMISSION_TLS_KEY_FILE: "/nowhere/key.pem" };
        expect(errorsOf({ ...open, ...unreadable, SUBMISSION_TLS })).toEqual([
          "SUBMISSION_TLS_KEY_FILE names a file that cannot be read (ENOENT)",
        ]);
      }
      withFile(key, (SUBMISSION_TLS_KEY_FILE) => {
        const files = { SUBMISSION_TLS_CERT_FILE, SUBMISSION_TLS_KEY_FILE };
        expect(readConfig({ ...open, ...files, SUBMISSION_TLS: "implicit" }).submission).toEqual({
          host: "0.0.0.0",
          port: 587,
          tls: {
            cert: cert.trim(),
            key: key.trim(),
            certFile: SUBMISSION_TLS_CERT_FILE,
            keyFile: SUBMISSION_TLS_KEY_FILE,
            isImplicit: true,
          },
        });
        const swapped = { SUBMISSION_TLS_CERT_FILE: SUBMISSION_TLS_KEY_FILE, SUBMISSION_TLS_KEY_FILE };
        expect(errorsOf({ ...open, ...swapped })).toEqual([
          expect.stringContaining("must hold a certificate"),
        ]);
      });
    });
  });

  test("SMTP_EHLO_NAME is for every relay whose URL names no other", () => {
    const { mailRoute } = readConfig({
      SMTP_EHLO_NAME: "Mail.example.com",
      SMTP_URL: "smtp://a.example smtp://b.example?ehlo_name=out.example.org",
    });
    expect(mailRoute).toMatchObject({
      relays: [{ ehloName: "mail.example.com" }, { ehloName: "out.example.org" }],
    });
  });

  test("limit each relay as its URL says, and otherwise as all of them", () => {
    const config = readConfig({
      SMTP_CONNECTIONS_MAX: "3",
      SMTP_URL: "smtp://a.example?connections_max=1&messages_per_second=14 smtp://b.example",
    });
    expect(config.mailRoute).toMatchObject({ relays: [{ connectionsMax: 1, messagesPerSecondMax: 14 }, {}] });
    expect(openRelays(config).map(({ transport }) => transport.sessionsMax)).toEqual([1, 3]);
    expect(errorsOf({ SMTP_URL: "smtp://a.example?messages_per_second=-1" })).toEqual([
      expect.stringContaining("messages_per_second is not a whole number from 0 to 100000"),
    ]);
  });

  test("bound the connections with returned mail, as before unless they say otherwise", () => {
    const open = { INBOUND_PORT: "25", RETURN_PATH_DOMAIN: "bounce.example.com" };
    const bounds = { connectionsMax: 50, connectionsPerClientMax: 10 };
    expect(readConfig(open).inbound).toMatchObject(bounds);
    const own = { INBOUND_CONNECTIONS_MAX: "7", INBOUND_CONNECTIONS_PER_CLIENT_MAX: "5" };
    const { inbound } = readConfig({ ...open, ...own });
    expect(inbound).toMatchObject({ connectionsMax: 7, connectionsPerClientMax: 5 });
  });

  test("name a malware scanner in either of its forms", () => {
    for (const url of ["tcp://clamav:3310", "tcp://[::1]:3310", "unix:/run/clamav/clamd.ctl"])
      expect(readConfig({ CLAMAV_URL: url }).clamavUrl).toBe(url);
    expect(readConfig({}).clamavUrl).toBeNull();
  });

  test("that are empty are as good as absent", () => {
    expect(readConfig({ PORT: "", HOST: "", MASTER_KEY: "", STORE_URL: "", LOG_LEVEL: "" })).toEqual(
      readConfig({}),
    );
  });

  const wrong: readonly [string, string][] = [
    ["PORT", "http"],
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "3000.5"],
    ["PORT", "0x10"],
    ["PORT", " 80"],
    ["DKIM_KEYS", "example.com"],
    ["DKIM_KEYS", "example.com:s1:/nowhere/key.pem"],
    ["DKIM_KEYS", "example.com:_:package.json"],
    ["DKIM_KEYS", "example.com:s1:package.json"],
    ["SMTP_URL", "smtp://a.example outbox:"],
    ["SMTP_URL", "smtp://a.example smtp://b.example?weight=0"],
    ["SMTP_URL", "smtp://a.example?order=x"],
    ["SMTP_URL", "smtp://a.example?dkim=on"],
    ["SMTP_URL", "smtp://a.example?ehlo_name=mail"],
    ["SMTP_URL", "smtp://a.example?connections_max=0"],
    ["SMTP_URL", "smtp://a.example smtp://b.example?connections_max=1001"],
    ["SMTP_URL", "smtp://a.example?messages_per_second=0.5"],
    ["SMTP_URL", "smtp://a.example?messages_per_second=1&messages_per_second=2"],
    ["SMTP_EHLO_NAME", "mail"],
    ["SMTP_EHLO_NAME", "mail.example.com\r\nRSET"],
    ["SMTP_URL", Array.from({ length: 11 }, () => "smtp://a.example").join(" ")],
    ["SUBMISSION_PORT", "on"],
    ["SUBMISSION_PORT", "65536"],
    ["INBOUND_CONNECTIONS_MAX", "0"],
    ["INBOUND_CONNECTIONS_PER_CLIENT_MAX", "many"],
    ["SUBMISSION_TLS", "yes"],
    ["SUBMISSION_TLS", "implicit"],
    ["SUBMISSION_HOST", "http://mail.example.com"],
    ["BASE_URL", "mail.example.com"],
    ["BASE_URL", "ftp://mail.example.com"],
    ["BASE_URL", "http://"],
    ["STORE_URL", "postgres://127.0.0.1"],
    ["CLAMAV_URL", "127.0.0.1:3310"],
    ["CLAMAV_URL", "tcp://127.0.0.1"],
    ["CLAMAV_URL", "tcp://127.0.0.1:99999"],
    ["CLAMAV_URL", "tcp://user@127.0.0.1:3310"],
    ["CLAMAV_URL", "tcp://127.0.0.1:3310/path"],
    ["CLAMAV_URL", "unix:clamd.sock"],
    ["STORE_URL", "./data"],
    ["CONTENT_URL", "gs://bucket"],
    ["CONTENT_URL", "./content"],
    ["CONTENT_TIMEOUT_MS", "99"],
    ["CONTENT_SWEEP_INTERVAL_MS", "0"],
    ["STORE_TIMEOUT_MS", "99"],
    ["STORE_TIMEOUT_MS", "5s"],
    ["MASTER_KEY", "secret"],
    ["MASTER_KEY", Buffer.alloc(31).toString("base64")],
    ["MASTER_KEY", Buffer.alloc(33).toString("base64")],
    ["MASTER_KEY", "!".repeat(44)],
    ["MASTER_KEY_PREVIOUS", "secret"],
    ["RESEND_WEBHOOK_SECRET", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["RESEND_WEBHOOK_SECRET", "whsec_short"],
    ["RESEND_WEBHOOK_SECRET", `${Array(21).fill("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").join(",")}`],
    ["MAILGUN_WEBHOOK_SIGNING_KEY", "short"],
    ["SENDGRID_VERIFICATION_KEY", "SG.key"],
    ["SENDGRID_VERIFICATION_KEY", sendgridKeys("secp384r1").shown],
    ["SENDGRID_VERIFICATION_KEY", sendgridKeys().shown.slice(0, -8)],
    ["SENDGRID_VERIFICATION_KEY", `${sendgridKeys().shown.slice(0, -2)}AA`.concat("AAAA")],
    ["SMTP_URL", "relay.example.com:587"],
    ["SMTP_URL", "http://relay.example.com"],
    ["SMTP_CONNECTIONS_MAX", "0"],
    ["SMTP_MESSAGES_PER_CONNECTION_MAX", "0"],
    ["SMTP_MESSAGES_PER_SECOND_MAX", "-1"],
    ["VERIFICATION_FROM", "postmaster"],
    ["VERIFICATION_FROM", "Postmaster <postmaster@example.com>"],
    ["DNS_SERVERS", "ns1.example.com"],
    ["DNS_SERVERS", "192.0.2.53,192.0.2.256"],
    ["DNS_SERVERS", "192.0.2.53:0"],
    ["DNS_SERVERS", "192.0.2.53:65536"],
    ["DNS_SERVERS", "[192.0.2.53]:53"],
    ["DNS_SERVERS", "[2001:db8::53"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "hooks.example.org"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "hooks.example.org:0"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "hooks.example.org:65536"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "Hooks.example.org:443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "https://hooks.example.org:443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "*.example.org:443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "127.0.0.2:4443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "0x7f.1:4443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "169.254.169.254:443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "[::1]:4443"],
    ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "ok.example.org:443,10.0.0.1:443"],
    ["WEBHOOK_CALL_TIMEOUT_MS", "99"],
    ["WEBHOOK_CALL_TIMEOUT_MS", "60001"],
    ["WEBHOOK_CALLS_PER_ENDPOINT_MAX", "0"],
    ["WEBHOOK_CALLS_PER_ENDPOINT_MAX", "51"],
    ["BOUNCE_RATE_WARNING_PERCENT", "5%"],
    ["COMPLAINT_RATE_WARNING_PERCENT", "0.0001"],
    ["BOUNCE_RATE_PAUSE_PERCENT", "100.001"],
    ["COMPLAINT_RATE_PAUSE_PERCENT", "-1"],
    ["WEBHOOK_SCHEDULE_MS", "0,soon"],
    ["WEBHOOK_SCHEDULE_MS", "0,-5"],
    ["WEBHOOK_SCHEDULE_MS", "1.5"],
    ["WEBHOOK_SCHEDULE_MS", Array(101).fill(0).join()],
    ["BOOTSTRAP", "yes"],
    ["DELIVERY", "true"],
    ["DELIVERY_LEASE_MS", "1"],
    ["DELIVERY_RETRY_BASE_MS", "1"],
    ["DELIVERY_RETRY_MAX_MS", "1e3"],
    ["DELIVERY_RELAY_RETRY_MS", "0"],
    ["DELIVERY_LIFETIME_MS", String(73 * 3_600_000)],
    ["DELIVERY_ON_AMBIGUOUS", "drop"],
    ["HOST", "999.1.1.1"],
    ["HOST", "[::1]"],
    ["HOST", "127.0.0.1 "],
    ["HOST", "127.0.0.1:3000"],
    ["HOST", "fe80::1%eth0"],
    ["HOST", "http://127.0.0.1"],
    ["BOUNCE_DOMAINS", "some"],
    ["STORE_CACHE_MIB", "0"],
    ["DISK_FREE_BYTES_MIN", "256MB"],
    ["LIMIT_MESSAGES_PER_DAY", "-1"],
    ["LIMIT_MESSAGES_PER_DAY", "1e6"],
    ["LIMIT_STORAGE_BYTES", "1GB"],
    ["LIMIT_KEY_REQUESTS_PER_SECOND", "0.5"],
    ["LIMIT_WORKSPACE_REQUESTS_PER_SECOND", "unlimited"],
    ["ATTACHMENT_RETENTION_HOURS", "0"],
    ["BODY_BYTES_IN_FLIGHT_MAX", "16000000"],
    ["AUTH_FAILURES_PER_MINUTE", "-1"],
    ["TRUSTED_PROXIES", "10.0.0.0/33"],
    ["TRUSTED_PROXIES", "10.0.0.1,proxy.example"],
    ["REQUEST_TIMEOUT_MS", "0"],
    ["DRAIN_TIMEOUT_MS", "forever"],
    ["LOG_LEVEL", "verbose"],
    ["LOG_FORMAT", "xml"],
    ["LOG_REQUESTS", "none"],
  ];
  for (const [name, value] of wrong) {
    test(`${name}=${value.slice(0, 30)} is refused by its name alone`, () => {
      const errors = errorsOf({ [name]: value });
      expect(errors).toHaveLength(1);
      expect(errors[0]).toStartWith(`${name} must `);
    });
  }

  test("STORE_CACHE_MIB is in MiB", () => {
    expect(readConfig({ STORE_CACHE_MIB: "64" }).storeCacheKib).toBe(64 * 1_024);
  });

  test("DNS_SERVERS are IP addresses of either kind, with or without a port", () => {
    const servers = ["192.0.2.53", "192.0.2.53:5353", "2001:db8::53", "[2001:db8::53]", "[::1]:5353"];
    expect(readConfig({ DNS_SERVERS: servers.join(", ") }).dnsServers).toEqual(servers);
    expect(readConfig({}).dnsServers).toEqual([]);
  });

  test("WEBHOOK_ALLOW_PRIVATE_HOSTS are names with ports, for a service on loopback alone", () => {
    const WEBHOOK_ALLOW_PRIVATE_HOSTS = "hooks.example.org:4443, localhost:443, 127.0.0.1:4000";
    expect([...readConfig({ WEBHOOK_ALLOW_PRIVATE_HOSTS }).webhooks.allowedPrivateHosts]).toEqual([
      "hooks.example.org:4443",
      "localhost:443",
      "127.0.0.1:4000",
    ]);
    expect(readConfig({}).webhooks.allowedPrivateHosts.size).toBe(0);
    for (const BASE_URL of ["http://127.0.0.1:3000", "http://localhost", "https://[::1]:3000/mail"])
      expect(errorsOf({ WEBHOOK_ALLOW_PRIVATE_HOSTS, BASE_URL })).toEqual([]);
    for (const BASE_URL of [
      "https://mail.example.com",
      "http://10.0.0.1:3000",
      "http://127.0.0.1.example.com",
      "http://localhost.example.com",
    ])
      expect(errorsOf({ WEBHOOK_ALLOW_PRIVATE_HOSTS, BASE_URL, SMTP_URL: "outbox:" })).toEqual([
        expect.stringMatching(/^WEBHOOK_ALLOW_PRIVATE_HOSTS .*BASE_URL must be loopback/),
      ]);
    // Where the service listens on all addresses, its own URL is not loopback either unless that is said.
    const open = { WEBHOOK_ALLOW_PRIVATE_HOSTS, HOST: "0.0.0.0", SMTP_URL: "outbox:" };
    expect(errorsOf(open)).toHaveLength(1);
  });

  test("ports of ours with one number name each other, unless they are on different addresses", () => {
    expect(errorsOf({ SUBMISSION_PORT: "3000" })).toEqual([
      "SUBMISSION_PORT 3000 is PORT too: set one of them to another port",
    ]);
    expect(errorsOf({ PORT: "4000", METRICS_PORT: "4000", METRICS_HOST: "0.0.0.0" })).toHaveLength(1);
    expect(errorsOf({ PORT: "4000", METRICS_PORT: "4000", METRICS_HOST: "127.0.0.2" })).toEqual([]);
    expect(errorsOf({ PORT: "0", METRICS_PORT: "0", SUBMISSION_PORT: "0" })).toEqual([]);
  });

  test("doctor shows WEBHOOK_ALLOW_PRIVATE_HOSTS for as long as it is set", async () => {
    const doctor = async (env: Environment) => {
      const dataDir = mkdtempSync(join(tmpdir(), "postledger-test-"));
      expect(await runJsonCommand({ DATA_DIR: dataDir }, "workspace", "create", "Acme")).toMatchObject({
        exitCode: 0,
      });
      const { out } = await runCommand(["doctor"], dataDir, env);
      rmSync(dataDir, { recursive: true });
      return out.split("\n").filter((line) => line.includes("WEBHOOK_ALLOW_PRIVATE_HOSTS"));
    };
    const pairs = "hooks.example.org:4443,localhost:443";
    expect(await doctor({ WEBHOOK_ALLOW_PRIVATE_HOSTS: pairs })).toEqual([
      expect.stringMatching(/^ok .*development\): hooks\.example\.org:4443, localhost:443$/),
    ]);
    expect(await doctor({})).toEqual([]);
  }, 60_000);

  test("operators are warned at a bounce rate of 5 % and a complaint rate of 0.1 %, and pauses are off", () => {
    expect(readConfig({}).sendingRates).toEqual({
      warning: { bounce: 5_000, complaint: 100 },
      pause: { bounce: 0, complaint: 0 },
    });
    const env = { BOUNCE_RATE_WARNING_PERCENT: "0", COMPLAINT_RATE_PAUSE_PERCENT: "0.07" };
    expect(readConfig({ ...env, BOUNCE_RATE_PAUSE_PERCENT: "100" }).sendingRates).toEqual({
      warning: { bounce: 0, complaint: 100 },
      pause: { bounce: 100_000, complaint: 70 },
    });
  });

  test("webhooks are tried by Standard Webhooks' schedule, unless WEBHOOK_SCHEDULE_MS says otherwise", () => {
    expect(readConfig({}).webhooks.policy).toEqual(WEBHOOK_POLICY);
    const { webhooks } = readConfig({ WEBHOOK_SCHEDULE_MS: "0, 1000", WEBHOOK_CALL_TIMEOUT_MS: "4000" });
    expect(webhooks.policy.scheduleMs).toEqual([0, 1_000]);
    expect(webhooks.callTimeoutMs).toBe(4_000);
    expect(webhooks.policy.leaseMs).toBeGreaterThan(webhooks.callTimeoutMs);
  });

  test("WEBHOOK_CA_FILE is read", () => {
    const read = (path: string) => readConfig({ WEBHOOK_CA_FILE: path }).webhooks.certificateAuthorities;
    expect(withFile("-----BEGIN CERTIFICATE-----\n", read)).toBe("-----BEGIN CERTIFICATE-----");
    expect(readConfig({}).webhooks.certificateAuthorities).toBeNull();
    expect(errorsOf({ WEBHOOK_CA_FILE: "/nowhere/at/all" })).toEqual([
      expect.stringContaining("WEBHOOK_CA_FILE names a file that cannot be read (ENOENT)"),
    ]);
  });

  test("VERIFICATION_FROM is kept as it is written into mail", () => {
    expect(readConfig({ VERIFICATION_FROM: "Post@Example.COM" }).verificationFrom).toBe("Post@example.com");
    expect(readConfig({}).verificationFrom).toBeNull();
  });

  test("that are wrong are all named at once", () => {
    const errors = errorsOf({ PORT: "x", BASE_URL: "x", MASTER_KEY: "x", LOG_LEVEL: "x", DELIVERY: "x" });
    const names = errors.map((error) => error.split(" ", 1)[0]);
    expect(names.sort()).toEqual(["BASE_URL", "DELIVERY", "LOG_LEVEL", "MASTER_KEY", "PORT"]);
  });

  test("and of a master key that is wrong it is not said that it is missing", () => {
    expect(errorsOf({ STORE_URL: "esdb://localhost:2113?tls=false", MASTER_KEY: "x" })).toEqual([
      expect.stringMatching(/^MASTER_KEY must be 32 bytes in base64/),
    ]);
    expect(errorsOf({ STORE_URL: "esdb://localhost:2113?tls=false" })).toEqual([
      expect.stringMatching(/^MASTER_KEY \(or MASTER_KEY_FILE\) must be set/),
    ]);
  });

  test("are refused without telling the value of a secret", () => {
    const errors = errorsOf({
      MASTER_KEY: "hunter2",
      SMTP_URL: "smpt://me:hunter2@relay",
      STORE_URL: "hunter2",
      RESEND_WEBHOOK_SECRET: "whsec_hunter2",
      MAILGUN_WEBHOOK_SIGNING_KEY: "hunter2",
      SENDGRID_VERIFICATION_KEY: "hunter2",
    });
    expect(errors).toHaveLength(6);
    expect(errors.join()).not.toContain("hunter2");
  });

  describe("of a service that others can reach", () => {
    const returned = {
      INBOUND_PORT: "25",
      INBOUND_HOST: "0.0.0.0",
      RETURN_PATH_DOMAIN: "bounce.example.com",
    };
    const openBy: readonly (readonly [Environment, reason: string])[] = [
      [{ HOST: "0.0.0.0" }, "HOST is 0.0.0.0"],
      [{ HOST: "0.0.0.0", BASE_URL: "http://127.0.0.1:3000" }, "HOST is 0.0.0.0"],
      [{ BASE_URL: "https://mail.example.com" }, "BASE_URL is https://mail.example.com"],
      [{ BASE_URL: "http://192.0.2.1:3000" }, "BASE_URL is http://192.0.2.1:3000"],
      [returned, "INBOUND_HOST is 0.0.0.0"],
    ];
    const reachable = openBy.map(([env]) => env);
    const trials: readonly Environment[] = [
      ...["127.0.0.2", "::1", "localhost", "LocalHost"].map((HOST) => ({ HOST })),
      ...["http://localhost:8080/mail", "https://[::1]:3000"].map((BASE_URL) => ({ BASE_URL })),
      { ...returned, INBOUND_HOST: "127.0.0.1" },
    ];

    test("must name a relay, or the outbox", () => {
      for (const [env, reason] of openBy) {
        expect(errorsOf(env)).toEqual([
          `SMTP_URL is not set. It must be, unless only this machine reaches the service, and ${reason}. Set it to your relay, or to \`outbox:\` to write mail to files.`,
        ]);
        for (const SMTP_URL of ["smtp://relay.example:587", "outbox:"])
          expect(errorsOf({ ...env, SMTP_URL })).toEqual([]);
        expect(errorsOf({ ...env, SMTP_URL_FILE: "/nowhere" })).toEqual([
          expect.stringMatching(/^SMTP_URL_FILE names a file that cannot be read/),
        ]);
      }
      for (const env of trials) expect(errorsOf(env)).toEqual([]);
    });

    test("need no relay for a command, which delivers nothing", () => {
      for (const env of reachable) expect(() => readConfig(env, { needsRelay: false })).not.toThrow();
    });

    test("give a new log no key, unless they ask for one", () => {
      for (const env of reachable) {
        const started = { ...env, SMTP_URL: "outbox:" };
        expect(readConfig(started).bootstrap).toBeFalse();
        expect(readConfig({ ...started, BOOTSTRAP: "on" }).bootstrap).toBeTrue();
      }
      for (const env of trials) expect(readConfig(env).bootstrap).toBeTrue();
    });
  });

  test("limits for every workspace come from LIMIT_ variables", () => {
    const env = {
      LIMIT_MESSAGES_PER_DAY: "0",
      LIMIT_STORAGE_BYTES: "5",
      LIMIT_CONTENT_BYTES: "6",
      LIMIT_KEY_REQUESTS_PER_SECOND: "0",
      LIMIT_WORKSPACE_REQUESTS_PER_SECOND: "7",
    };
    expect(readConfig(env).limitsDefault).toMatchObject({
      messagesPerDay: 0,
      storageBytes: 5,
      contentBytes: 6,
      keyRequestsPerSecond: 0,
      workspaceRequestsPerSecond: 7,
    });
    expect(readConfig({}).limitsDefault).toMatchObject({
      messagesPerDay: 1_000_000,
      storageBytes: 1_000_000_000,
      contentBytes: 50_000_000_000,
      keyRequestsPerSecond: 2_000,
      workspaceRequestsPerSecond: 4_000,
    });
  });

  test("TRUSTED_PROXIES are addresses and ranges; nobody is trusted by default", () => {
    expect(readConfig({}).trustedProxies).toEqual([]);
    const { trustedProxies } = readConfig({ TRUSTED_PROXIES: "10.0.0.0/8, fd00::/8,192.0.2.1," });
    expect(trustedProxies.map(([address, bits]) => `${address}/${bits}`)).toEqual([
      "10.0.0.0/8",
      "fd00::/8",
      "192.0.2.1/32",
    ]);
  });

  describe("LOGIN_PROXY_HEADER", () => {
    const LOGIN_PROXIES = "10.0.0.0/8, ::1";

    test("says who somebody is, from LOGIN_PROXIES, and with a secret if one is set", () => {
      expect(readConfig({}).loginProxy).toBeNull();
      const header = { LOGIN_PROXY_HEADER: "X-Forwarded-Email", LOGIN_PROXIES };
      const { loginProxy } = readConfig(header);
      expect(loginProxy).toMatchObject({ header: "X-Forwarded-Email", secret: null });
      expect(loginProxy?.ranges.map(([address, bits]) => `${address}/${bits}`)).toEqual([
        "10.0.0.0/8",
        "::1/128",
      ]);
      const LOGIN_PROXY_SECRET = "0123456789abcdef";
      expect(readConfig({ ...header, LOGIN_PROXY_SECRET }).loginProxy?.secret).toBe(LOGIN_PROXY_SECRET);
      expect(errorsOf({ ...header, LOGIN_PROXY_SECRET: "short" })).toEqual([
        "LOGIN_PROXY_SECRET must be 16 to 200 printable ASCII characters without spaces",
      ]);
      expect(errorsOf({ LOGIN_PROXY_SECRET })).toEqual([
        "LOGIN_PROXY_SECRET must not be set without LOGIN_PROXY_HEADER",
      ]);
    });

    test("and LOGIN_PROXIES are set together, and not for all addresses", () => {
      const together = expect.stringMatching(/^LOGIN_PROXY_HEADER and LOGIN_PROXIES must be set together/);
      expect(errorsOf({ LOGIN_PROXIES })).toEqual([together]);
      expect(errorsOf({ LOGIN_PROXY_HEADER: "Remote-User", LOGIN_PROXIES: " , " })).toEqual([together]);
      expect(errorsOf({ LOGIN_PROXY_HEADER: "Remote-User" })).toEqual([together]);
      for (const all of ["0.0.0.0/0", "10.0.0.1,::/0"])
        expect(errorsOf({ LOGIN_PROXY_HEADER: "Remote-User", LOGIN_PROXIES: all })).toEqual([
          expect.stringMatching(/^LOGIN_PROXIES must not hold a range of all addresses/),
        ]);
      expect(errorsOf({ LOGIN_PROXY_HEADER: "Remote-User", LOGIN_PROXIES: "proxy.example" })).toEqual([
        expect.stringMatching(/^LOGIN_PROXIES must be addresses or CIDR ranges/),
      ]);
    });

    test.each([
      "two words",
      "X-Email:",
      "X-Émail",
      "Authorization",
      "cookie",
      "Host",
      "Content-Type",
      "Forwarded",
      "X-Forwarded-For",
      "Sec-Fetch-Site",
      "HX-Request",
      "Login-Proxy-Secret",
    ])("%s is refused", (LOGIN_PROXY_HEADER) => {
      expect(errorsOf({ LOGIN_PROXY_HEADER, LOGIN_PROXIES })).toEqual([
        expect.stringMatching(/^LOGIN_PROXY_HEADER must be the name of a header without another meaning/),
      ]);
    });

    test.each([
      ...["X-Forwarded-User", "X-Auth-Request-Email", "Remote-User", "Remote-Email", "Tailscale-User-Login"],
      ...["Cf-Access-Authenticated-User-Email", "X-Pomerium-Claim-Email", "X-authentik-email"],
    ])("%s is taken", (LOGIN_PROXY_HEADER) => {
      expect(errorsOf({ LOGIN_PROXY_HEADER, LOGIN_PROXIES })).toEqual([]);
    });
  });

  test("MASTER_KEY must be given with EventStoreDB", () => {
    expect(errorsOf({ STORE_URL: ESDB })).toEqual([expect.stringMatching(/^MASTER_KEY .*must be set/)]);
    expect(errorsOf({ STORE_URL: ESDB, MASTER_KEY: KEY })).toEqual([]);
    expect(errorsOf({ STORE_URL: "esdb+discover://a,b,c", MASTER_KEY: KEY })).toEqual([]);
  });

  describe("of content on S3", () => {
    const s3Of = ({ content }: Config) => (content.kind === "s3" ? content.s3 : null);
    const S3 = { CONTENT_URL: "s3://mail-content", S3_ACCESS_KEY_ID: "id", S3_SECRET_ACCESS_KEY: "secret" };

    test("name a bucket, a place in it, and the server; Amazon's unless another is named", () => {
      expect(s3Of(readConfig(S3))).toEqual({
        endpoint: "https://s3.us-east-1.amazonaws.com",
        region: "us-east-1",
        bucket: "mail-content",
        prefix: "",
        accessKeyId: "id",
        secretAccessKey: "secret",
        serverSideEncryption: null,
        kmsKeyId: null,
      });
      for (const S3_SERVER_SIDE_ENCRYPTION of ["AES256", "aws:kms"] as const) {
        const s3 = s3Of(readConfig({ ...S3, S3_SERVER_SIDE_ENCRYPTION }));
        expect(s3?.serverSideEncryption).toBe(S3_SERVER_SIDE_ENCRYPTION);
      }
      const kms = { ...S3, S3_SERVER_SIDE_ENCRYPTION: "aws:kms" };
      for (const S3_KMS_KEY_ID of [
        "1234abcd-12ab-34cd-56ef-1234567890ab",
        "alias/mail",
        "arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
      ])
        expect(s3Of(readConfig({ ...kms, S3_KMS_KEY_ID }))?.kmsKeyId).toBe(S3_KMS_KEY_ID);
      expect(s3Of(readConfig({ ...S3, S3_REGION: "eu-central-1" }))?.endpoint).toBe(
        "https://s3.eu-central-1.amazonaws.com",
      );
      const own = { CONTENT_URL: "s3://mail.content/a/b-1/", S3_ENDPOINT: "http://minio:9000/" };
      expect(s3Of(readConfig({ ...S3, ...own }))).toMatchObject({
        endpoint: "http://minio:9000",
        bucket: "mail.content",
        prefix: "a/b-1/",
      });
      expect(readConfig({}).content).toMatchObject({ kind: "directory" });
    });

    test("need a key, which may come from files", () => {
      const names = ["S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"];
      const errors = errorsOf({ CONTENT_URL: S3.CONTENT_URL });
      expect(errors.map((error) => error.split(" ", 1)[0])).toEqual(names);
      const env = { CONTENT_URL: S3.CONTENT_URL, S3_ACCESS_KEY_ID: "id" };
      const read = (path: string) => readConfig({ ...env, S3_SECRET_ACCESS_KEY_FILE: path });
      expect(s3Of(withFile("from a file\n", read))?.secretAccessKey).toBe("from a file");
    });

    test("name a KMS key only for aws:kms", () => {
      for (const S3_SERVER_SIDE_ENCRYPTION of ["", "AES256"])
        expect(errorsOf({ ...S3, S3_SERVER_SIDE_ENCRYPTION, S3_KMS_KEY_ID: "alias/mail" })).toEqual([
          "S3_KMS_KEY_ID must not be set unless S3_SERVER_SIDE_ENCRYPTION is aws:kms",
        ]);
    });

    test("are refused by the variable's name, without the value", () => {
      const wrong: readonly [string, string][] = [
        ["CONTENT_URL", "s3://id:hunter2@bucket"],
        ["CONTENT_URL", "s3://bucket/../other"],
        ["CONTENT_URL", "s3://bucket/a b"],
        ["CONTENT_URL", "s3://bucket?region=hunter2"],
        ["CONTENT_URL", "s3://UPPER"],
        ["CONTENT_URL", "s3://"],
        ["CONTENT_URL", "s3:bucket"],
        ["S3_ENDPOINT", "minio:9000"],
        ["S3_ENDPOINT", "https://minio/path"],
        ["S3_ENDPOINT", "https://id:hunter2@minio"],
        ["S3_SERVER_SIDE_ENCRYPTION", "hunter2"],
        ["S3_KMS_KEY_ID", "hunter2\r\nx-amz-acl: public-read"],
        ["S3_KMS_KEY_ID", "hunter2 "],
        ["AWS_SESSION_TOKEN", "hunter2"],
      ];
      for (const [name, value] of wrong) {
        const errors = errorsOf({ ...S3, [name]: value });
        expect(errors).toEqual([expect.stringMatching(new RegExp(`^${name} must `))]);
        expect(errors.join()).not.toContain("hunter2");
      }
    });
  });

  describe("secrets in files", () => {
    const secrets: readonly [string, string, (env: Environment) => unknown][] = [
      ["MASTER_KEY", KEY, (env) => Buffer.from(readConfig(env).masterKey ?? []).toString("base64")],
      [
        "MASTER_KEY_PREVIOUS",
        KEY,
        (env) => Buffer.from(readConfig(env).masterKeyPrevious ?? []).toString("base64"),
      ],
      [
        "SMTP_URL",
        "smtp://user:password@relay.example:587",
        (env) => {
          const { mailRoute } = readConfig(env);
          const [relay] = mailRoute.kind === "smtp" ? mailRoute.relays : [];
          const { user, password } = relay?.credentials ?? {};
          return `smtp://${user}:${password}@${relay?.host}:${relay?.port}`;
        },
      ],
      ["STORE_URL", "file:/var/lib/postledger", (env) => readConfig(env).storeUrl],
    ];
    for (const [name, value, read] of secrets) {
      test(`${name}_FILE is read in place of ${name}, less its line break`, () => {
        expect(withFile(`${value}\n`, (path) => read({ [`${name}_FILE`]: path }))).toBe(value);
      });

      test(`${name} and ${name}_FILE together are refused`, () => {
        const errors = withFile(value, (path) => errorsOf({ [name]: value, [`${name}_FILE`]: path }));
        expect(errors).toEqual([`${name} and ${name}_FILE must not both be set`]);
      });

      test(`${name}_FILE that is not there is refused by its name`, () => {
        const errors = errorsOf({ [`${name}_FILE`]: "/nowhere/at/all" });
        expect(errors.join("\n")).toContain(`${name}_FILE names a file that cannot be read`);
      });
    }

    test("that hold no key are refused", () => {
      for (const text of ["", "\n", "secret"]) {
        const errors = withFile(text, (path) => errorsOf({ MASTER_KEY_FILE: path }));
        expect(errors).toEqual([expect.stringMatching(/^the file of MASTER_KEY_FILE must be 32 bytes/)]);
      }
    });
  });

  test("that are wrong stop the command with status 2 and a line for each", async () => {
    const env = { ...process.env, PORT: "http", LOG_LEVEL: "verbose", STORE_URL: ESDB };
    const { exitCode, err } = await runProcess([...COMMAND_LINE, "serve"], { env });
    const lines = err.trim().split("\n");
    expect(exitCode).toBe(2);
    expect(lines).toHaveLength(3);
    for (const name of ["PORT", "LOG_LEVEL", "MASTER_KEY"])
      expect(lines.some((line) => line.startsWith(`postledger: ${name} `))).toBeTrue();
  });
});

test.each([
  ["DNS_SERVERS", "192.0.2.53,192.0.2.256,::1", '"192.0.2.256"'],
  ["TRUSTED_PROXIES", "10.0.0.0/8, 10.0.0.0/33", '"10.0.0.0/33"'],
  ["WEBHOOK_ALLOW_PRIVATE_HOSTS", "ok.example.org:443,10.0.0.1:443", '"10.0.0.1:443"'],
  ["WEBHOOK_SCHEDULE_MS", "0,soon,5,later", '"soon", "later"'],
  ["WEBHOOK_SCHEDULE_MS", "a,b,c,d,e,f,g", '"a", "b", "c", "d", "e" and 2 more'],
])("of the list %s = %p it is said which entries are wrong", (name, value, wrong) => {
  let message = "";
  try {
    readConfig({ [name]: value });
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain(`${name} must be `);
  expect(message).toContain(`; wrong: ${wrong}`);
});
