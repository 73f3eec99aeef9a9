import { beforeAll, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "../../src/service/status/checks/check.ts";
import { runCommand } from "../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 120_000;

/** As behind a proxy on the same machine, with files for a relay. */
const PRODUCTION = { BASE_URL: "https://mail.example.com", SMTP_URL: "outbox:" };

describe("on a log without a workspace", () => {
  const dataDir = temporaryFolder();
  let service: TestProcess;
  beforeAll(async () => {
    service = await startTestProcess({
      dataDir,
      env: { ...PRODUCTION, LIMIT_CONTENT_BYTES: String(2 ** 50) },
    });
  }, TEST_MS_MAX);

  const run = (...words: readonly string[]) => runCommand(words, dataDir);
  const checksNamed = async (...names: readonly string[]) => {
    const { json } = await run("doctor", "--json");
    return (json as readonly Check[]).filter(({ name }) => names.includes(name));
  };
  const workspaceChecks = () => checksNamed("workspaces");

  test(
    "a service behind a proxy makes no key, and says that mail goes nowhere and that one workspace could fill the disk",
    async () => {
      expect(await readdir(dataDir)).not.toContain("bootstrap.key");
      const place = join(dataDir, "outbox");
      expect(await checksNamed("relay (outbox)", "room for content")).toEqual([
        {
          name: "room for content",
          status: "warning",
          detail: expect.stringMatching(
            /^1 quota for content allows more than the .* free at .*: any workspace 1\.1 PB$/,
          ),
          action: expect.stringContaining("LIMIT_CONTENT_BYTES"),
        },
        {
          name: "relay (outbox)",
          status: "warning",
          detail: expect.stringContaining(`its mail is written to ${place} and goes nowhere else`),
          action: expect.stringContaining("SMTP_URL"),
        },
      ]);
      expect(service.log()).toContain(`its mail is written to ${place} and goes nowhere else`);
      const { json } = await service.call("GET", "/health/ready", { headers: { authorization: null } });
      expect(json.checks.relay.detail).toBe("Mail is written to files and goes nowhere else.");
    },
    TEST_MS_MAX,
  );

  test(
    "doctor says that nobody can use it, of a running service and without one, until there is one",
    async () => {
      const emptyCheck: Check = {
        name: "workspaces",
        status: "warning",
        detail: "there is none, so nobody can use the service",
        action: expect.stringContaining("`bun run postledger workspace create <name>`"),
      };
      expect(await workspaceChecks()).toEqual([emptyCheck]);
      await service.kill("SIGTERM");
      expect(await workspaceChecks()).toEqual([emptyCheck]);
      expect((await run("workspace", "create", "Acme")).exitCode).toBe(0);
      expect(await workspaceChecks()).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test(
    "a sender is added with what is still to be done, and a key with spaces between its scopes",
    async () => {
      const created = await run("workspace", "create", "Other", "--json");
      const inWorkspace = ["--workspace", created.json.id];
      const domain = await run("sender", "add", "acme.example", ...inWorkspace);
      expect(domain.out).toMatch(
        /^acme\.example added\nIt can send once it is verified\. Publish this TXT record, then have it looked up: `bun run postledger sender verify acme\.example --workspace \S+ --dns`\n {2}_postledger\.acme\.example {2}postledger-verification=[0-9a-f]{64}\n/,
      );
      expect(domain.out).toContain(`postledger sender verify acme.example --workspace ${created.json.id}`);
      const repeated = await run("sender", "add", "acme.example", ...inWorkspace, "--json");
      expect(repeated.json).toEqual({
        outcome: "alreadyAdded",
        dns_record: {
          type: "TXT",
          name: "_postledger.acme.example",
          value: expect.stringContaining("postledger-verification="),
        },
        mail_records: [
          expect.objectContaining({ for: "SPF", name: "acme.example" }),
          expect.objectContaining({ for: "DMARC", name: "_dmarc.acme.example" }),
        ],
      });
      const address = await run("sender", "add", "a@other.example", ...inWorkspace);
      expect(address.out).toMatch(
        /^a@other\.example added\nIt can send once it is verified\. On your word: `bun run postledger sender verify /,
      );
      const key = await run("api-key", "create", ...inWorkspace, "--scopes", "email:send, email:read");
      expect({ exitCode: key.exitCode, err: key.err }).toEqual({ exitCode: 0, err: "" });
      const misspelt = await run("api-key", "create", ...inWorkspace, "--scopes", "email:send,email:raed");
      expect(misspelt.err).toContain(
        "email:raed is not a scope. Did you mean email:read? There are email:send, ",
      );
    },
    TEST_MS_MAX,
  );
});
