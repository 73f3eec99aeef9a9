/** Who acts, for whom, when and why: everything about an append except the events. */
export interface CommandContext {
  readonly at: number;
  readonly correlationId: string;
  /** `api-key:<id>`, `cli`, `worker:<id>` or `system`. */
  readonly actor: string;
  readonly workspaceId?: string;
  readonly causationId?: string;
  /** Whether it is about test mail; absent means either. Not recorded, because test mail is marked itself. */
  readonly isTest?: boolean;
  /** Whether nobody waits for the outcome any more, so that work not yet begun is best left. Absent: somebody does. */
  readonly isAbandoned?: () => boolean;
}

/** The context of a command in one workspace. Events for its webhook endpoints need one. */
export interface WorkspaceCommandContext extends CommandContext {
  readonly workspaceId: string;
}
