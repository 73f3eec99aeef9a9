import { expect, test } from "bun:test";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SECOND_MS } from "../../src/kernel/time.ts";
import { renewedTlsFiles } from "../../src/service/adapters/renewedTlsFiles.ts";
import { loadTlsFiles } from "../../src/service/config/mail/tlsFiles.ts";
import { type Certificate, certificateAuthority } from "../support/stores/certificates.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const authority = certificateAuthority("test");
const issue = () => authority.issue("mail.example", ["mail.example"]);

test("a renewed pair is taken once, and one that cannot be used is warned of once and skipped", async () => {
  const directory = temporaryFolder();
  const [certFile, keyFile] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  const write = async ({ certificate, key }: Certificate) => {
    await writeFile(certFile, certificate);
    await writeFile(keyFile, key);
  };
  const [first, second, third] = [issue(), issue(), issue()];
  await write(first);
  const lines: string[] = [];
  const logger = { info: () => lines.push("info"), warn: () => lines.push("warning") };
  let now = 0;
  const files = { certFile, keyFile, ...loadTlsFiles({ certFile, keyFile }) };
  const renewed = renewedTlsFiles(files, logger as never, { monotonicMs: () => now });
  const look = () => {
    now += SECOND_MS;
    return renewed();
  };
  expect(look()).toBeNull();
  await write(second);
  // Not every connection looks at the files.
  expect(renewed()).toBeNull();
  expect(look()).toEqual({ cert: second.certificate.trim(), key: second.key.trim() });
  expect(look()).toBeNull();
  expect(lines.splice(0)).toEqual(["info"]);
  for (const broken of [
    { certificate: third.certificate, key: second.key },
    { certificate: "none", key: third.key },
  ]) {
    await write(broken);
    expect(look()).toBeNull();
  }
  await rm(keyFile);
  expect(look()).toBeNull();
  expect(lines.splice(0)).toEqual(["warning"]);
  await write(third);
  expect(look()).toEqual({ cert: third.certificate.trim(), key: third.key.trim() });
  expect(lines).toEqual(["info"]);
});
