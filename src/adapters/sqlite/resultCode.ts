const SQLITE_BUSY = 5;

/** SQLite's primary result code; undefined for an error that is not SQLite's. The upper bytes only refine it. */
export function resultCodeOf(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: unknown };
  return typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Whether another connection has the file locked. */
export function isBusy(error: unknown): boolean {
  return resultCodeOf(error) === SQLITE_BUSY;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, which SQLite also returns for a schema that it cannot parse. */
const DAMAGE: readonly unknown[] = [11, 26];

/** Whether SQLite says that the file is damaged. */
export function isDamage(error: unknown): boolean {
  return DAMAGE.includes(resultCodeOf(error));
}
