/**
 * The events that hold what a person can have erased: each is the beginning of its stream or of what is left of
 * it, so that truncation takes it away and leaves the rest.
 */
export const PERSONAL_EVENTS = [
  "EmailContentStored",
  "SuppressionAddressStored",
  "AttachmentUploaded",
] as const;
