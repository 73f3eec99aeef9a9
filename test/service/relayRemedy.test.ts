import { expect, test } from "bun:test";
import { relayRemedy } from "../../src/service/logLines/relayLogLines.ts";

test("a relay without TLS, or with a private authority, has a remedy each", () => {
  const remedy = relayRemedy("tls_failed");
  expect(remedy).toContain("?tls=none");
  expect(remedy).toContain("NODE_EXTRA_CA_CERTS");
});
