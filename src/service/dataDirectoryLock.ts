import {
  type DirectoryLock,
  isDirectoryLocked,
  LOCK_FILE,
  lockDirectory,
} from "../adapters/sqlite/directoryLock.ts";
import { ConfigError } from "./config/configError.ts";
import { directoryError } from "./faults/startupErrors.ts";

function withReason<Result>(dataDir: string, use: (directory: string) => Result): Result {
  try {
    return use(dataDir);
  } catch (error) {
    throw directoryError({ variable: "DATA_DIR", value: dataDir, files: [LOCK_FILE] }, error);
  }
}

/** {@link lockDirectory} of DATA_DIR. Throws why it cannot be locked, and what to do. */
export function lockDataDirectory(dataDir: string): DirectoryLock | null {
  return withReason(dataDir, lockDirectory);
}

/** As {@link lockDataDirectory}; throws too if another process has it. */
export function requireDataDirectoryLock(dataDir: string): DirectoryLock {
  const lock = lockDataDirectory(dataDir);
  if (lock === null) throw dataDirectoryInUse(dataDir);
  return lock;
}

/** {@link isDirectoryLocked} of DATA_DIR. Throws why nobody can tell, and what to do. */
export function isDataDirectoryLocked(dataDir: string): boolean {
  return withReason(dataDir, isDirectoryLocked);
}

/** The refusal of whatever needs DATA_DIR alone while another process has it. */
export function dataDirectoryInUse(dataDir: string): ConfigError {
  return new ConfigError([
    `DATA_DIR ${dataDir} is in use by another running service, or by a command that needs it alone: stop that one, or set DATA_DIR to another directory`,
  ]);
}
