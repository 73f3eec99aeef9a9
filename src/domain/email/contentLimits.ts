/** Limits of the content of a message, sent directly or rendered from a template. */
export const SUBJECT_CHARACTERS_MAX = 998;
/** Of a display name. */
export const NAME_CHARACTERS_MAX = 255;
export const HTML_CHARACTERS_MAX = 500_000;
export const TEXT_CHARACTERS_MAX = 200_000;
/** Of `variables` as compact JSON. */
export const VARIABLES_CHARACTERS_MAX = 100_000;
export const METADATA_KEY_CHARACTERS_MAX = 80;
export const METADATA_TEXT_CHARACTERS_MAX = 500;
/** Of `metadata` as compact JSON. */
export const METADATA_BYTES_MAX = 16_000;
/** The pairs of `metadata` by which a message is found; it keeps and shows all. */
export const METADATA_INDEXED_MAX = 20;
export const TAGS_MAX = 10;
export const TAG_CHARACTERS_MAX = 64;
export const CONTENT_ID_CHARACTERS_MAX = 255;
/** Attachments of one message, uploaded and direct. */
export const ATTACHMENTS_MAX = 10;
/** Of all attachments of a message together, decoded. */
export const ATTACHMENTS_BYTES_MAX = 10_000_000;
