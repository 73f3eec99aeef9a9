import { expect, test } from "bun:test";
import { projections } from "../../projections/index.ts";

/**
 * The tables and indexes of each read model by its version. A file is kept while its version is the same, so what
 * changes here without a new version never reaches an installation that is there already.
 */
const TABLES: Readonly<Record<string, string>> = {
  "api-keys.2": "1a698dfa7e40ec04",
  "attachments.3": "f75783c4c9d679fb",
  "due.3": "830638ac648cd86a",
  "emails.6": "2569d2071a8fb997",
  "erasures.2": "50a50e6000aac9c5",
  "message-files.2": "39e9406f1d47ae85",
  "senders.3": "eeaba3a631893e3c",
  "storage.2": "0ffb416b2f13300f",
  "suppressions.3": "dccf6b548ce55c94",
  "templates.3": "a0b984b07e4888b8",
  "webhook-deliveries.5": "576553cf4cf9ca7e",
  "webhook-endpoints.3": "1d3f306bd931d53b",
};

test("tables and indexes change with the version of their read model alone", () => {
  const tables = projections.map(({ name, version, tables: ofIt }) => {
    const sql = ofIt.map(({ name: table, columns, indexes = [] }) => [table, columns, ...indexes]);
    const text = JSON.stringify(sql).replaceAll(/(\\n|\s)+/g, " ");
    const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 16);
    return [`${name}.${version}`, digest] as const;
  });
  expect(Object.fromEntries(tables)).toEqual(TABLES);
});
