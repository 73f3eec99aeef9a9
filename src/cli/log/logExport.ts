import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { copyContentTree, isDamagedCopy } from "../../adapters/directory/copyContentTree.ts";
import { writeCompressed, writeCompressedFile } from "../../adapters/durableFiles/compressedLineFile.ts";
import { createDirectoryAtomically } from "../../adapters/durableFiles/createDirectoryAtomically.ts";
import { instanceAggregate } from "../../commands/aggregateDefinitions.ts";
import { recordBackupOrExport } from "../../commands/instance/recordBackupOrExport.ts";
import type { ExportEnd } from "../../commands/log/exportFormat.ts";
import { exportLog } from "../../commands/log/exportLog.ts";
import { load } from "../../commands/transact.ts";
import { invariant } from "../../kernel/assert.ts";
import { newId } from "../../kernel/ids.ts";
import { rfc3339 } from "../../kernel/time.ts";
import type { Position } from "../../ports/eventStore.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import { isEmbedded } from "../../service/adapters/openStore.ts";
import type { Config } from "../../service/config/config.ts";
import { lockDataDirectory } from "../../service/dataDirectoryLock.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { fileCountText } from "../output/fileCountText.ts";
import { progressBar } from "../output/progressBar.ts";
import { requireDirectoryOf } from "../output/requireDirectoryOf.ts";
import { requireNewPath } from "../output/requireNewPath.ts";
import { type Command, type Invocation, refuse, UsageError } from "../program/command.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";
import { freezeAndSettle } from "./freezeAndSettle.ts";

const STDOUT = "-";

interface WrittenLines extends ExportEnd {
  /** Events of other applications on the same server, which are not in the export. */
  readonly foreign: number;
}

interface Written extends WrittenLines {
  readonly exportId: string;
  readonly frozen: boolean;
}

interface Exported extends Written {
  readonly content: ExportedContent | null;
  /** Services that did not answer in time. */
  readonly silent: readonly string[];
}

/** Writes the whole log out, using a temporary database to keep streams apart. */
async function writeOut({ log, storage }: OpenForCommand, out: string): Promise<Written> {
  const copy = { kind: "export", place: out === STDOUT ? "standard output" : resolve(out) } as const;
  await recordBackupOrExport(log, copy, systemCommandContext("cli"));
  const { state } = await load(log, instanceAggregate);
  invariant(state, "a log that is open has an instance");
  const { logId, contentStoreId, sealedDataKey, frozenAt } = state;
  const header = {
    ...{ exportId: newId(), exportedAt: rfc3339(Date.now()) },
    ...{ logId, contentStoreId, sealedDataKey, sealed: frozenAt !== null },
  };
  const folder = await mkdtemp(join(tmpdir(), "postledger-export-"));
  const scratch = storage.databases.open(join(folder, "streams.db"), "build");
  const bar = progressBar("exporting");
  const ends: WrittenLines[] = [];
  try {
    const head = await log.head();
    const onProgress = (events: number, position: Position) =>
      bar.show(logReadFraction({ position, head }), `${events} events`);
    const onEnd = (end: ExportEnd, foreign: number) => void ends.push({ ...end, foreign });
    const chunks = exportLog({ store: log, header, scratch, onProgress, onEnd });
    if (out === STDOUT) await writeCompressed(chunks, process.stdout);
    else await writeCompressedFile(out, chunks);
  } finally {
    bar.end();
    scratch.close();
    await rm(folder, { recursive: true, force: true });
  }
  const [end] = ends;
  invariant(end, "an export that was written has an end");
  return { exportId: header.exportId, frozen: header.sealed, ...end };
}

function linesOf(out: string, exported: Exported): readonly string[] {
  const { content, silent, foreign } = exported;
  const missing = exported.missing === 0 ? "" : `, ${exported.missing} more were erased or cut off`;
  return [
    `${out}: ${exported.events} events${missing}`,
    ...(foreign === 0 ? [] : [`${foreign} events of other applications on this server were left out`]),
    ...(content === null ? [] : [`content: ${fileCountText(content)}`]),
    ...(content?.damaged ? [`${content.damaged} files of content were damaged before they were copied`] : []),
    exported.frozen
      ? "the log is frozen: no instance accepts or delivers anything on it any more"
      : "the log goes on here: what is accepted from now on is not in the export",
    ...silent.map(
      (service) =>
        `the service at ${service} did not report in time that it has stopped: make sure that it is not running`,
    ),
  ];
}

/** Reports to standard error if standard output carries the export. */
function report(invocation: Invocation, out: string, exported: Exported): void {
  const lines = linesOf(out, exported);
  if (out === STDOUT) process.stderr.write(lines.map((line) => `${line}\n`).join(""));
  else {
    const { exportId, ...told } = exported;
    invocation.print({ out, export_id: exportId, ...told }, lines);
  }
}

export const logExport: Command = {
  name: "log export",
  summary: "Write the whole log to a file, for `log import`",
  description:
    "JSON lines, compressed with zstd; also works beside a running service. Without --freeze it is a snapshot: what is accepted later is not in it. Exit status 1 when a file of content was damaged before it was copied.",
  options: [
    {
      name: "out",
      value: "<file>",
      help: `file to write, which must not exist yet; ${STDOUT}: standard output`,
      isRequired: true,
    },
    {
      name: "freeze",
      value: null,
      help: "first stop the log here for good, so that it can go on elsewhere: running instances refuse new mail and finish what they have begun (default: the log goes on here)",
    },
    {
      name: "content",
      value: "<dir>",
      help: "also copy the content directory to this one, which must not exist yet (default: it is not copied)",
    },
  ],
  examples: [
    "postledger log export --out log.zst",
    "postledger log export --out log.zst --freeze --content content-copy # To go on elsewhere",
  ],
  async run(invocation) {
    const { config } = invocation;
    const out = invocation.required("out");
    const contentDir = invocation.option("content");
    if (out === STDOUT && process.stdout.isTTY)
      throw new UsageError("an export is not for a terminal: use --out <file>");
    for (const path of [out, contentDir]) {
      if (path !== undefined && path !== STDOUT) requireNewPath(path);
    }
    if (contentDir === "") throw new UsageError("--content names no directory");
    // Check before freezing a log whose export cannot be written.
    if (out !== STDOUT) requireDirectoryOf(out);
    const copy =
      contentDir === undefined ? null : { out, from: contentDirectory(config), target: contentDir };
    // Held to the end, so no service starts on a log that is moving away.
    const isFreezing = invocation.option("freeze") !== undefined;
    using lock = isFreezing && isEmbedded(config) ? lockDataDirectory(config.dataDir) : null;
    return await withLog(
      config,
      async (open) => {
        const silent = isFreezing ? await freezeAndSettle(open, config, lock !== null) : [];
        const written = await writeOut(open, out);
        const content = copy === null ? null : await exportContent(copy);
        report(invocation, out, { ...written, content, silent });
        return content?.damaged ? 1 : 0;
      },
      { writes: true, copiesContent: copy !== null },
    );
  },
};

/** What was copied. */
interface ExportedContent {
  readonly files: number;
  readonly bytes: number;
  /** Files that were damaged before they were copied. */
  readonly damaged: number;
}

/** Where CONTENT_URL keeps content. Refuses a bucket. */
function contentDirectory({ content }: Config): string {
  if (content.kind === "directory") return content.directory;
  refuse("the content is on S3, where every instance finds it: keep CONTENT_URL as it is");
}

interface ContentCopy {
  /** The export beside it. */
  readonly out: string;
  readonly from: string;
  readonly target: string;
}

/** Copies the content directory to a new one. If that fails, the export is removed: the next one needs its name. */
async function exportContent({ out, from, target }: ContentCopy): Promise<ExportedContent> {
  const bar = progressBar("content");
  let [files, bytes, damaged] = [0, 0, 0];
  try {
    await createDirectoryAtomically(target, async (directory) => {
      for await (const file of copyContentTree(from, directory)) {
        files += 1;
        bytes += file.bytes;
        if (isDamagedCopy(file)) damaged += 1;
        bar.show(0, fileCountText({ files, bytes }));
      }
    });
  } catch (error) {
    if (out !== STDOUT) await rm(out, { force: true });
    throw error;
  } finally {
    bar.end();
  }
  return { files, bytes, damaged };
}
