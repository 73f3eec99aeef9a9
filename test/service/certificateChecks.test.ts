import { afterEach, beforeAll, expect, setSystemTime, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { certificateChecks } from "../../src/service/status/checks/certificateChecks.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/webhook/receiverCertificate.ts";

const SUBMISSION = { host: "127.0.0.1", port: 587 };

const directory = temporaryFolder();
beforeAll(async () => {
  await writeFile(join(directory, "cert.pem"), RECEIVER_CERTIFICATE);
  await writeFile(join(directory, "key.pem"), RECEIVER_KEY);
});
afterEach(() => void setSystemTime());

/** The check of files whose pair at the start was another one. */
function checkOf(certFile: string) {
  const pair = { cert: "at the start", key: "at the start", isImplicit: false };
  const tls = { ...pair, certFile: join(directory, certFile), keyFile: join(directory, "key.pem") };
  return certificateChecks({ submission: { ...SUBMISSION, tls }, inbound: null })[0];
}

test.each([
  ["2126-10-01T00:00:00Z", "ok", "valid until"],
  ["2126-10-20T00:00:00Z", "warning", "expires in 8 days"],
  ["2126-11-01T00:00:00Z", "failed", "expired on"],
])("at %s the certificate is %s", (at, status, detail) => {
  setSystemTime(new Date(at));
  expect(checkOf("cert.pem")).toMatchObject({
    name: "submission certificate",
    status,
    detail: expect.stringContaining(detail),
  });
});

test("files that hold no pair are a failed check, which names their settings", () => {
  for (const certFile of ["key.pem", "missing.pem"]) {
    expect(checkOf(certFile)).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("a running service keeps the pair before"),
      action: expect.stringContaining("SUBMISSION_TLS_CERT_FILE and SUBMISSION_TLS_KEY_FILE"),
    });
  }
});

test("there is nothing to say without one", () => {
  expect(certificateChecks({ submission: null, inbound: null })).toEqual([]);
  expect(certificateChecks({ submission: { ...SUBMISSION, tls: null }, inbound: null })).toEqual([]);
});
