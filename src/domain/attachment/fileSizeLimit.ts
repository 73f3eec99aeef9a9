/** The largest file, uploaded or direct, in decoded bytes; the limit itself is accepted. */
export const FILE_BYTES_MAX = 5_000_000;
