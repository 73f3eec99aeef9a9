import { expect, test } from "bun:test";
import { projections } from "../../projections/index.ts";

/**
 * A digest of the tables of each read model, and the version that brought them. A file is kept as long as its version is
 * the same, so a changed table without a new version would never reach an existing installation. Indexes are not part
 * of it: every file gets the declared ones when it is opened for writing.
 */
const TABLES: Readonly<Record<string, { readonly since: number; readonly digest: string }>> = {
  "audit-log": { since: 4, digest: "9e59726291e867f2" },
  "api-keys": { since: 5, digest: "df2c5b08bd2c109e" },
  attachments: { since: 3, digest: "d075dbf5764087c4" },
  emails: { since: 22, digest: "e5059b439aeb9f43" },
  erasures: { since: 2, digest: "96db516626b38d23" },
  "attachment-use": { since: 2, digest: "474c91684753834e" },
  senders: { since: 5, digest: "73edb925995278bb" },
  "storage-reservations": { since: 1, digest: "ee554babc3dafcd1" },
  suppressions: { since: 4, digest: "abbbcba9b20a03bb" },
  templates: { since: 5, digest: "902fca7b52314917" },
  "webhook-deliveries": { since: 6, digest: "22e78ea1fda99ff1" },
  "webhook-endpoints": { since: 5, digest: "ac26b78e407a64e4" },
};

test.each(projections.map((projection) => [projection.name, projection] as const))(
  "the tables of %s change with its version alone: raise that, and note it here with the digest",
  (name, { version, tables }) => {
    const sql = tables.map(({ name: table, columns }) => [table, columns]);
    const text = JSON.stringify(sql).replaceAll(/(\\n|\s)+/g, " ");
    const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
    const known = TABLES[name] ?? { since: 0, digest: "" };
    expect({ name, digest }).toEqual({ name, digest: known.digest });
    expect(version).toBeGreaterThanOrEqual(known.since);
  },
);
