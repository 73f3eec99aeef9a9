/**
 * What the events of a message tell only those endpoints that ask for it: receivers keep payloads, and nothing that is
 * erased here is erased there.
 */
export const INCLUDABLE_MEMBERS = ["from", "to", "subject"] as const;

export type IncludableMember = (typeof INCLUDABLE_MEMBERS)[number];
