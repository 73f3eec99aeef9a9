import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { DiskSearch, Markers } from "../../support/files/diskSearch.ts";

const folder = mkdtempSync(join(tmpdir(), "disk-search-"));
afterAll(() => rmSync(folder, { recursive: true }));

const inText = (marker: string) => `Thank you, ${marker}. `.repeat(1_000);
const FORMS: readonly (readonly [string, (marker: string) => Uint8Array])[] = [
  ["as it is, in any case", (marker) => Buffer.from(`x${marker.toUpperCase()}`)],
  ["in UTF-16", (marker) => Buffer.from(`ab${marker}`, "utf16le")],
  ["in UTF-16 the other way round", (marker) => Buffer.from(`b${marker}`, "utf16le").swap16()],
  ["in hex", (marker) => Buffer.from(`0${Buffer.from(marker).toString("hex")}`)],
  ["in Base64", (marker) => Buffer.from(Buffer.from(`é${marker}`).toString("base64"))],
  [
    "in Base64 behind a word",
    (marker) => Buffer.from(`abcde${Buffer.from(`1${marker}`).toString("base64")}`),
  ],
  [
    "in lines of Base64",
    (marker) =>
      Buffer.from(
        Buffer.from(inText(marker))
          .toString("base64")
          .replace(/(.{76})/g, "$1\r\n"),
      ),
  ],
  [
    "in quoted-printable, broken over lines",
    (m) => Buffer.from(`caf=C3=A9 ${m.slice(0, 7)}=\r\n${m.slice(7)}`),
  ],
  [
    "compressed by zstd, in the middle of a file",
    (marker) =>
      Buffer.concat([Buffer.alloc(99, 7), Bun.zstdCompressSync(inText(marker)), Buffer.alloc(99, 7)]),
  ],
  ["compressed by gzip", (marker) => Buffer.concat([Buffer.alloc(9, 7), gzipSync(inText(marker))])],
  ["compressed, then in Base64", (marker) => Buffer.from(gzipSync(inText(marker)).toString("base64"))],
];

test.each(FORMS)("a marker is found %s", (form, encode) => {
  const markers = new Markers();
  const path = join(folder, `${form.replace(/\W/g, "")}.bin`);
  writeFileSync(path, encode(markers.word()));
  const search = new DiskSearch();
  search.searchDirectory(folder);
  expect([...(search.found.get(markers.all[0] ?? "") ?? [])]).toEqual([path]);
  rmSync(path);
});

test("a marker is found in the name of a file", () => {
  const markers = new Markers();
  writeFileSync(join(folder, `${markers.word()}.txt`), "");
  const search = new DiskSearch();
  search.searchDirectory(folder);
  expect(search.found.has(markers.all[0] ?? "")).toBe(true);
});

test("a marker is found compressed and spread over database pages, and unerased free pages are reported", () => {
  const markers = new Markers();
  const path = join(folder, "pages.db");
  const db = new DatabaseSync(path);
  db.exec("PRAGMA secure_delete = OFF; CREATE TABLE t (id INTEGER PRIMARY KEY, data)");
  const insert = db.prepare("INSERT INTO t (data) VALUES (?)");
  // Noise hardly compresses, so the frame is longer than a page; the marker is at its end.
  const noise = Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))).toString("latin1");
  insert.run(Bun.zstdCompressSync(noise + markers.word()));
  insert.run(Buffer.alloc(50_000, 1));
  const search = new DiskSearch();
  search.searchFile(path);
  expect(search.found.has(markers.all[0] ?? "")).toBe(true);
  expect(search.unreadable).toEqual([]);
  db.exec("DELETE FROM t WHERE id = 2");
  search.searchFile(path);
  expect(search.unreadable.length).toBeGreaterThan(5);
  const clean = new DiskSearch();
  db.exec("PRAGMA secure_delete = ON; DELETE FROM t; VACUUM");
  clean.searchFile(path);
  expect({ found: clean.found.size, unreadable: clean.unreadable }).toEqual({ found: 0, unreadable: [] });
  db.close();
});
