/** A workspace has at most this many templates, including archived ones. */
export const TEMPLATES_MAX = 1_000;
/** A template has at most this many versions. */
export const VERSIONS_MAX = 1_000;
/** Drafts and publications of a template: its deletion names them all in one event. */
export const CHANGES_MAX = 4_000;
/** A version declares at most this many variables. */
export const VARIABLES_MAX = 100;
/** The source of one version as JSON. */
export const VERSION_BYTES_MAX = 256 * 1_024;
/** The sources of all versions of a template: every fold of its stream reads them. */
export const TEMPLATE_BYTES_MAX = 16 * 1_024 * 1_024;
