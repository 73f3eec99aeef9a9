/** What we write is for its owner only: it holds mail, keys and addresses. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;
