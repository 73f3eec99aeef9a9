/** What a workspace may use. The operator sets it, for all by the environment, for one on the command line. */
export interface WorkspaceLimits {
  /** Accepted messages per UTC day. */
  readonly messagesPerDay: number;
  /**
   * Bytes of temporary files: uploads, and direct attachments of messages, until the message has ended and
   * `attachmentRetentionHours` have passed.
   */
  readonly storageBytes: number;
  /** Bytes of message content that was not erased, and of template sources. */
  readonly contentBytes: number;
  /** Requests a second with one API key, on each instance; 0: no limit. */
  readonly keyRequestsPerSecond: number;
  /** Requests a second with all keys of the workspace, on each instance; 0: no limit. */
  readonly workspaceRequestsPerSecond: number;
  /** How long uploads are kept, and how long at least a message's files are kept after its acceptance. */
  readonly attachmentRetentionHours: number;
  /** How long a message's content is kept after its acceptance or scheduled time, if the message has ended by then. */
  readonly contentRetentionDays: number;
  /** Whether zip, eml, p7s and pkpass files are accepted. */
  readonly archiveAttachments: boolean;
}

const PER_SECOND = { min: 0, max: 1_000_000 };

/** The range of each number, both ends included, in the environment and on the command line. */
export const LIMIT_RANGES = {
  messagesPerDay: { min: 0, max: 2 ** 50 },
  storageBytes: { min: 0, max: 2 ** 50 },
  contentBytes: { min: 0, max: 2 ** 50 },
  keyRequestsPerSecond: PER_SECOND,
  workspaceRequestsPerSecond: PER_SECOND,
  attachmentRetentionHours: { min: 1, max: 365 * 24 },
  contentRetentionDays: { min: 1, max: 36_500 },
} as const satisfies Partial<Record<keyof WorkspaceLimits, { readonly min: number; readonly max: number }>>;

/** The limits of one workspace: its own where set, else the instance's. Null: there is no such workspace. */
export function limitsOf(
  workspace: { readonly limits: Partial<WorkspaceLimits> } | null,
  defaults: WorkspaceLimits,
): WorkspaceLimits {
  return { ...defaults, ...workspace?.limits };
}
