import { readFileSync } from "node:fs";
import { type DkimKey, dkimAlgorithm } from "../../../kernel/crypto/dkimKeys.ts";
import { parseDomain } from "../../../kernel/text/emailAddress.ts";
import type { EnvironmentReader } from "../environmentReader.ts";

/** Labels below `_domainkey` (RFC 6376 §3.1). */
const SELECTOR = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const KEYS = "domain:selector:file, separated by commas: example.com:pl1:/run/secrets/dkim.pem";

/** The keys that sign mail; without any, mail is not signed. */
export interface DkimConfig {
  readonly dkimKeys: readonly DkimKey[];
}

export function readDkimConfig(reader: EnvironmentReader): DkimConfig {
  const entries = reader.list("DKIM_KEYS").map(parsedEntry);
  reader.requireEach("DKIM_KEYS", reader.list("DKIM_KEYS"), (text) => parsedEntry(text) !== null, KEYS);
  const dkimKeys = entries.flatMap((entry) => {
    const key = entry === null ? null : keyOf(reader, entry);
    return key === null ? [] : [key];
  });
  const names = dkimKeys.map(({ domain, selector }) => `${selector}._domainkey.${domain}`);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) reader.errors.push(`DKIM_KEYS must not name ${twice} twice`);
  return { dkimKeys };
}

interface Entry {
  readonly domain: string;
  readonly selector: string;
  readonly path: string;
}

function parsedEntry(text: string): Entry | null {
  const [, name = "", selector = "", path = ""] = /^([^:]+):([^:]+):(.+)$/.exec(text) ?? [];
  const domain = parseDomain(name);
  return domain === null || !SELECTOR.test(selector) || path === "" ? null : { domain, selector, path };
}

function keyOf(reader: EnvironmentReader, { domain, selector, path }: Entry): DkimKey | null {
  let privateKey: string;
  try {
    privateKey = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    reader.errors.push(`DKIM_KEYS must name files that can be read: the one for ${domain} cannot (${code})`);
    return null;
  }
  const algorithm = dkimAlgorithm(privateKey);
  if (algorithm !== null) return { domain, selector: selector.toLowerCase(), algorithm, privateKey };
  reader.errors.push(
    `DKIM_KEYS must name files with a private key in PEM, Ed25519 or RSA of at least 1,024 bits: the one for ${domain} holds none`,
  );
  return null;
}
