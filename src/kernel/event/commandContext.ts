/** Who acts, for whom, when and because of what: everything about an append that is not the event itself. */
export interface CommandContext {
  readonly at: number;
  readonly correlationId: string;
  /** `api-key:<id>`, `cli`, `worker:<id>` or `system`. */
  readonly actor: string;
  readonly workspaceId?: string;
  readonly causationId?: string;
  /** Whether it is about test mail; absent: about either. It is not recorded: what is test mail says so itself. */
  readonly isTest?: boolean;
}

/** A command in one workspace. Events that its webhook endpoints receive need one. */
export interface WorkspaceCommandContext extends CommandContext {
  readonly workspaceId: string;
}
