import { expect, test } from "bun:test";
import { projections } from "../../projections/index.ts";

/**
 * The tables and indexes of each read model, and since which version they are so. A file is kept while its version is
 * the same, so what changes here without a new version never reaches an installation that is there already.
 */
const TABLES: Readonly<Record<string, { readonly since: number; readonly digest: string }>> = {
  "audit-log": { since: 1, digest: "056b4ee9bdc1bb90" },
  "api-keys": { since: 3, digest: "88e862a84db1931a" },
  attachments: { since: 3, digest: "f75783c4c9d679fb" },
  due: { since: 3, digest: "830638ac648cd86a" },
  emails: { since: 8, digest: "585dbcca0a450d4b" },
  erasures: { since: 2, digest: "50a50e6000aac9c5" },
  "message-files": { since: 2, digest: "39e9406f1d47ae85" },
  senders: { since: 4, digest: "3e1f27ed2610d970" },
  storage: { since: 2, digest: "0ffb416b2f13300f" },
  suppressions: { since: 3, digest: "dccf6b548ce55c94" },
  templates: { since: 3, digest: "a0b984b07e4888b8" },
  "webhook-deliveries": { since: 5, digest: "576553cf4cf9ca7e" },
  "webhook-endpoints": { since: 3, digest: "1d3f306bd931d53b" },
};

test.each(projections.map((projection) => [projection.name, projection] as const))(
  "the tables of %s change with its version alone",
  (name, { version, tables }) => {
    const sql = tables.map(({ name: table, columns, indexes = [] }) => [table, columns, ...indexes]);
    const text = JSON.stringify(sql).replaceAll(/(\\n|\s)+/g, " ");
    const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
    const known = TABLES[name] ?? { since: 0, digest: "" };
    // Where they differ: raise the version of the read model, and say here since when they are so.
    expect({ name, digest }).toEqual({ name, digest: known.digest });
    expect(version).toBeGreaterThanOrEqual(known.since);
  },
);
