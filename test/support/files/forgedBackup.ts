import { cp, rm } from "node:fs/promises";
import { join } from "node:path";

type ManifestLine = Record<string, unknown>;

/** Copies a backup to `to`, with other lines in its list of files, and the digest that these have. */
export async function forgeBackup(
  from: string,
  to: string,
  change: (lines: ManifestLine[]) => unknown[],
): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await cp(from, to, { recursive: true });
  const written = (await Bun.file(join(from, "manifest.jsonl")).text()).trimEnd().split("\n");
  const lines = change(written.slice(0, -1).map((line) => JSON.parse(line)));
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
  await Bun.write(join(to, "manifest.jsonl"), `${body}${JSON.stringify({ end: { sha256 } })}\n`);
}
