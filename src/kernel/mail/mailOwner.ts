const TEST_PREFIX = "test-";

/** Whose mail it is: a workspace has live mail, and beside it the mail of its test keys. */
export interface MailOwner {
  readonly workspaceId: string;
  readonly isTest: boolean;
}

/**
 * Under which id mail is kept, counted and listed: the workspace's own, or `test-` and that. Live mail and test mail so
 * never meet, whatever is asked for.
 */
export function mailOwnerId({ workspaceId, isTest }: MailOwner): string {
  return isTest ? TEST_PREFIX + workspaceId : workspaceId;
}

/** Both ids under which mail of a workspace is kept. */
export function mailOwnerIdsOf(workspaceId: string): readonly [string, string] {
  return [workspaceId, TEST_PREFIX + workspaceId];
}

/** The mail owner with an id of {@link mailOwnerId}. */
export function mailOwnerOf(ownerId: string): MailOwner {
  const isTest = ownerId.startsWith(TEST_PREFIX);
  return { workspaceId: isTest ? ownerId.slice(TEST_PREFIX.length) : ownerId, isTest };
}
