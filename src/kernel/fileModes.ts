/** What we write is for its owner only: it holds mail, keys and addresses. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

const OTHERS = 0o077;
let callerUmask = OTHERS;

/** From here on nobody else on the machine can read what this process writes, however its caller has set the umask. */
export function keepFromOthers(): void {
  callerUmask = process.umask(OTHERS);
}

/** Writes what holds no secret as the caller's umask wants it. Not asynchronous, because the umask is the process's. */
export function withCallerUmask(write: () => void): void {
  const own = process.umask(callerUmask);
  try {
    write();
  } finally {
    process.umask(own);
  }
}
