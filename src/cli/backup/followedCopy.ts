import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ContentRoot } from "../../adapters/directory/contentRoot.ts";
import { contentFiles, isDamagedCopy } from "../../adapters/directory/copyContentTree.ts";
import { digestFile } from "../../adapters/directory/copyFile.ts";
import { readFollowStatus } from "../../adapters/directory/followStatusFile.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import {
  CONTENT_NAMING_TYPES,
  contentNamedBy,
  filesOf,
  type NamedContent,
} from "../../commands/attachment/contentNamedBy.ts";
import { isContentFileReferenced } from "../../commands/attachment/isContentReferenced.ts";
import { load } from "../../commands/transact.ts";
import { filePath, IDENTITY_FILE } from "../../kernel/contentPath.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { LOG_START, type LogView, type RecordedEvent } from "../../ports/eventStore.ts";
import { refuse } from "../program/command.ts";
import { BACKUP_CONTENT, BACKUP_LOG, type BackupFacts, type OnChecked } from "./backupManifest.ts";

/** A file of content that a copy should have: it is not there, or has other bytes than its name says. */
export interface ContentFault {
  readonly path: string;
  readonly what: "missing" | "damaged";
}

/** The content in a copy that is kept up to date. */
export interface CheckedContent {
  readonly files: number;
  readonly bytes: number;
  readonly faults: readonly ContentFault[];
}

/** The facts about a copy as of its last round: those in its list are of its beginning. Refuses another log's copy. */
export async function currentFacts(
  directory: string,
  listed: BackupFacts,
  view: LogView,
): Promise<BackupFacts> {
  const { state } = await load(view, instanceAggregate);
  if (state?.logId !== listed.logId) refuse(`${BACKUP_LOG} is not the log that the backup names`);
  const status = await readFollowStatus(directory);
  const { contentStoreId, sealedDataKey, frozenAt } = state;
  const createdAt = status?.at ?? listed.createdAt;
  return { ...listed, createdAt, contentStoreId, sealedDataKey, sealed: frozenAt !== null };
}

/**
 * Reads every file of content in a copy and compares it with its name, and looks for all that the log names. Throws
 * `ContentStoreError` if the content is not there at all.
 */
export async function checkFollowedContent(
  directory: string,
  { view, contentStoreId }: { readonly view: LogView; readonly contentStoreId: string },
  onFile: OnChecked,
): Promise<CheckedContent> {
  const root = join(directory, BACKUP_CONTENT);
  const place = new ContentRoot(root);
  await place.requirePresent();
  const isOfLog = (await place.identity()) === contentStoreId;
  const faults: ContentFault[] = isOfLog ? [] : [{ path: IDENTITY_FILE, what: "damaged" }];
  let [files, bytes] = [0, 0];
  for await (const path of contentFiles(place)) {
    const digest = await digestFile(join(root, path)).catch(() => null);
    const isSound = digest !== null && !isDamagedCopy({ path, ...digest });
    if (!isSound) faults.push({ path, what: "damaged" });
    files += 1;
    bytes += digest?.bytes ?? 0;
    onFile({ files, bytes });
  }
  for await (const path of missingContent(root, view)) faults.push({ path, what: "missing" });
  return { files, bytes, faults };
}

/** The files that the log names and the directory lacks. */
async function* missingContent(root: string, view: LogView): AsyncGenerator<string> {
  const now = Date.now();
  for await (const { events } of view.readAll(LOG_START, { types: CONTENT_NAMING_TYPES }))
    for (const { folder, files } of await namedFiles(root, events))
      for (const sha256 of files) {
        const path = filePath(folder, sha256);
        if (existsSync(join(root, path))) continue;
        if (await isContentFileReferenced(view, folder, { sha256, now })) yield path;
      }
}

/** The files that events name, with those that their content in the content store names. */
function namedFiles(root: string, events: readonly RecordedEvent[]) {
  const named = events.flatMap((event) => contentNamedBy(event) ?? []);
  return Promise.all(named.map(async (one) => ({ ...one, files: await allFilesOf(root, one) })));
}

async function allFilesOf(
  root: string,
  { folder, files, content }: NamedContent,
): Promise<readonly string[]> {
  if (content === null) return files;
  const bytes = await readFile(join(root, filePath(folder, content))).catch(() => null);
  // What is missing or damaged is reported, and names nothing.
  if (bytes === null || sha256Of(bytes) !== content) return files;
  return [...files, ...filesOf(parseJson(bytes.toString()) as Parameters<typeof filesOf>[0])];
}
