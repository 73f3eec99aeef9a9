/** What a workspace may use. Set by the operator: for all by the environment, for one by the command line. */
export interface WorkspaceLimits {
  /** Accepted messages a UTC day. */
  readonly messagesPerDay: number;
  /**
   * Bytes of temporary files: uploads, and direct attachments of messages, until the message has ended and
   * `attachmentRetentionHours` have passed.
   */
  readonly storageBytes: number;
  /** Bytes of the content of messages that was not erased, and of the sources of templates. */
  readonly contentBytes: number;
  /** Requests a second with one API key, on each instance; 0: no limit. */
  readonly keyRequestsPerSecond: number;
  /** Requests a second with all keys of the workspace, on each instance; 0: no limit. */
  readonly workspaceRequestsPerSecond: number;
  /** How long an upload is kept after it was made, and a message's files at least after it was accepted. */
  readonly attachmentRetentionHours: number;
  /** How long the content of a message is kept after it was accepted, if it has ended by then. */
  readonly contentRetentionDays: number;
  /** Whether zip, eml, p7s and pkpass files are taken. */
  readonly archiveAttachments: boolean;
}

const PER_SECOND = { min: 0, max: 1_000_000 };

/** What each number may be, both ends included: for the environment and for the command line. */
export const LIMIT_RANGES = {
  messagesPerDay: { min: 0, max: 2 ** 50 },
  storageBytes: { min: 0, max: 2 ** 50 },
  contentBytes: { min: 0, max: 2 ** 50 },
  keyRequestsPerSecond: PER_SECOND,
  workspaceRequestsPerSecond: PER_SECOND,
  attachmentRetentionHours: { min: 1, max: 365 * 24 },
  contentRetentionDays: { min: 1, max: 36_500 },
} as const satisfies Partial<Record<keyof WorkspaceLimits, { readonly min: number; readonly max: number }>>;

/** The limits of one workspace: its own where they were set, else the instance's. Null: there is no workspace. */
export function limitsOf(
  workspace: { readonly limits: Partial<WorkspaceLimits> } | null,
  defaults: WorkspaceLimits,
): WorkspaceLimits {
  return { ...defaults, ...workspace?.limits };
}
