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
