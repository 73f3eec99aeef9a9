/** What the operating system's error codes mean, for people who have never seen them. */
const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: "this user may not read or write there",
  EPERM: "this user may not read or write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  ENOENT: "it is not there and cannot be made",
  EEXIST: "there is a file of that name",
  EISDIR: "there is a directory of that name",
  ENOTEMPTY: "there is a directory of that name, which is not empty",
  ELOOP: "there is a link of that name",
  ENAMETOOLONG: "the name is too long",
  EFBIG: "no file may get so large there",
  EIO: "the disk fails",
  ENOTDIR: "there is a file of that name, or on the way to it",
};

/** The code of an operating system error; null for all others. */
export function systemErrorCode(error: unknown): string | null {
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

/** Whether an operating system error says that the disk is full, or the quota used up. */
export function isNoRoomError(error: unknown): boolean {
  const code = systemErrorCode(error);
  return code === "ENOSPC" || code === "EDQUOT";
}

/** What an operating system error means, with its code; null for codes without a text here, and for other errors. */
export function systemErrorText(error: unknown): string | null {
  const code = systemErrorCode(error);
  const meaning = code === null ? undefined : MEANINGS[code];
  return meaning === undefined ? null : `${meaning} (${code})`;
}
