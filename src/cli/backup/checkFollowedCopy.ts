import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ContentRoot } from "../../adapters/directory/contentRoot.ts";
import { contentFiles, isDamagedCopy, isFileBelow } from "../../adapters/directory/copyContentTree.ts";
import type { FollowStatus } from "../../adapters/directory/followStatusFile.ts";
import { digestFile } from "../../adapters/durableFiles/copyFile.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import {
  CONTENT_NAMING_TYPES,
  contentNamedBy,
  filesOf,
  type NamedContent,
} from "../../commands/attachment/contentNamedBy.ts";
import { isContentFileReferenced } from "../../commands/attachment/isContentReferenced.ts";
import { newestEventAt } from "../../commands/audit/auditSealer.ts";
import { load } from "../../commands/transact.ts";
import { filePath, IDENTITY_FILE, LOG_FILE } from "../../kernel/contentPath.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { epochMs, rfc3339 } from "../../kernel/time.ts";
import { LOG_START, type LogView, type RecordedEvent } from "../../ports/eventStore.ts";
import { refuse } from "../program/command.ts";
import { BACKUP_CONTENT, BACKUP_LOG, type BackupFacts, type OnChecked } from "./backupManifest.ts";
import { ContentFaults } from "./contentFaults.ts";

/** The content in a copy that is kept up to date. */
export interface CheckedContent {
  readonly files: number;
  readonly bytes: number;
  readonly faults: ContentFaults;
  /** All files whose bytes are not what their names say. */
  readonly damaged: ReadonlySet<string>;
}

/**
 * The facts about a copy as of its last round, or of its newest event if nothing says when that was: those in its list
 * are of its beginning. Refuses another log's copy.
 */
export async function currentFacts(
  listed: BackupFacts,
  view: LogView,
  status: FollowStatus | null,
): Promise<BackupFacts> {
  const { state } = await load(view, instanceAggregate);
  if (state?.logId !== listed.logId) refuse(`${BACKUP_LOG} is not the log that the backup names`);
  const { contentStoreId, sealedDataKey, frozenAt } = state;
  const createdAt = status?.at ?? rfc3339((await newestEventAt(view)) ?? epochMs(listed.createdAt));
  return { ...listed, createdAt, contentStoreId, sealedDataKey, sealed: frozenAt !== null };
}

interface CheckedLog extends Pick<BackupFacts, "contentStoreId" | "logId"> {
  readonly view: LogView;
}

/**
 * Reads every file of content in a copy and compares it with its name, and looks for all that the log names. A follower
 * may change the copy meanwhile, if `view` shows what it does. Throws `ContentStoreError` if the content is not there.
 */
export async function checkFollowedContent(
  directory: string,
  { view, contentStoreId, logId }: CheckedLog,
  onFile: OnChecked,
): Promise<CheckedContent> {
  const root = join(directory, BACKUP_CONTENT);
  const place = new ContentRoot(root);
  await place.requirePresent();
  const isOfLog = (await place.identity()) === contentStoreId;
  const damaged = new Set(isOfLog ? [] : [IDENTITY_FILE]);
  if ((await place.logId()) !== logId) damaged.add(LOG_FILE);
  let [files, bytes] = [0, 0];
  for (const path of contentFiles(root)) {
    const digest = await digestFile(join(root, path)).catch(() => null);
    // Erased meanwhile.
    if (digest === null && !existsSync(join(root, path))) continue;
    if (digest === null || isDamagedCopy({ path, ...digest })) damaged.add(path);
    files += 1;
    bytes += digest?.bytes ?? 0;
    onFile({ files, bytes });
  }
  const faults = new ContentFaults();
  faults.add("damaged", [...damaged]);
  for await (const missing of missingContent(root, view)) faults.add("missing", missing);
  await place.requirePresent();
  return { files, bytes, faults, damaged };
}

/** The files that the log names and the directory lacks, for each batch of events. */
export async function* missingContent(root: string, view: LogView): AsyncGenerator<readonly string[]> {
  const now = Date.now();
  for await (const { events } of view.readAll(LOG_START, { types: CONTENT_NAMING_TYPES })) {
    const missing: string[] = [];
    for (const { folder, files } of await namedFiles(root, events))
      for (const sha256 of files) {
        const path = filePath(folder, sha256);
        if (isFileBelow(root, path)) continue;
        if (await isContentFileReferenced(view, folder, { sha256, now })) missing.push(path);
      }
    yield missing;
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
