import { type ContentInUse, contentInUse } from "../../../../projections/emails/queries.ts";
import { diskSpaceOf } from "../../../adapters/system/diskSpace.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { limitsOf } from "../../../domain/workspace/workspaceLimits.ts";
import { mailOwnerOf } from "../../../kernel/liveOrTestOwner.ts";
import { bytesText, counted, listedUpTo } from "../../../kernel/text/readableNumbers.ts";
import { requireStoreError } from "../../../ports/eventStore.ts";
import { type ReadDatabase, unlessUnavailable } from "../../../ports/readDatabase.ts";
import { isEmbedded, logDirectory } from "../../adapters/openStore.ts";
import type { Config } from "../../config/config.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "room for content";
/** Workspaces that it names; it counts as many more. */
const NAMED_MAX = 5;
/** Mail owners that are looked at, those with the most content. */
const LOOKED_AT_MAX = 1_000;

const REMEDY =
  "lower LIMIT_CONTENT_BYTES (docs/deployment.md, Capacity), or that of one workspace by `workspace limits`, or make room: on a full disk no workspace can send";

/** What a workspace may still store, in bytes. */
interface Room {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Whether one workspace alone could fill the disk before its quota for content refuses anything. Not asked of a trial,
 * whose disk is its user's own. None while the store or the read model does not answer, which have checks.
 */
export async function contentRoomChecks(
  config: Config,
  deps: Pick<Dependencies, "workspaces" | "limitsDefault">,
  emails: ReadDatabase,
): Promise<readonly Check[]> {
  const disk = fullestDisk(config);
  if (disk === null || config.isTrial) return [];
  const inUse = unlessUnavailable(() => contentInUse(emails, LOOKED_AT_MAX));
  const rooms = inUse === null ? null : await roomsOf(deps, inUse);
  if (rooms === null) return [];
  const free = `the ${bytesText(disk.freeBytes)} that are free at ${disk.directory}`;
  const tooLarge = rooms.filter(({ bytes }) => bytes > disk.freeBytes);
  if (tooLarge.length === 0) return [ok(NAME, `no workspace may store more than ${free}`)];
  const each = tooLarge.map(({ name, bytes }) => `${name} ${bytesText(bytes)}`);
  const many = counted(tooLarge.length, "quota for content allows", "quotas for content allow");
  return [warning(NAME, `${many} more than ${free}: ${listedUpTo(NAMED_MAX, each)}`, REMEDY)];
}

/** The disk with the least room of those that hold content; null if all of it is elsewhere. */
function fullestDisk(config: Config): { readonly directory: string; readonly freeBytes: number } | null {
  const directories = [
    ...(isEmbedded(config) ? [logDirectory(config)] : []),
    ...(config.content.kind === "directory" ? [config.content.directory] : []),
  ];
  const disks = directories.map((directory) => ({
    directory,
    freeBytes: diskSpaceOf(directory).freeBytes(),
  }));
  return disks.sort((one, other) => one.freeBytes - other.freeBytes)[0] ?? null;
}

/** Of those that have content, and of any other. Null while the store does not answer. */
async function roomsOf(
  { workspaces, limitsDefault }: Pick<Dependencies, "workspaces" | "limitsDefault">,
  inUse: readonly ContentInUse[],
): Promise<readonly Room[] | null> {
  const other = {
    name: inUse.length === 0 ? "any workspace" : "any other",
    bytes: limitsDefault.contentBytes,
  };
  const roomOf = async ({ ownerId, bytes }: ContentInUse): Promise<Room> => {
    const { workspaceId, isTest } = mailOwnerOf(ownerId);
    const workspace = await workspaces.get(workspaceId);
    const left = limitsOf(workspace, limitsDefault).contentBytes - bytes;
    const name = `${workspace?.name ?? workspaceId}${isTest ? " (test mail)" : ""}`;
    return { name, bytes: Math.max(0, left) };
  };
  try {
    return [...(await Promise.all(inUse.map(roomOf))), other];
  } catch (error) {
    requireStoreError(error);
    return null;
  }
}
