const TEST_PREFIX = "test-";

/** The owner of mail: a workspace, for its live mail or for the mail of its test keys. */
export interface MailOwner {
  readonly workspaceId: string;
  readonly isTest: boolean;
}

/**
 * The id under which mail is kept, counted and listed: the workspace's id, with the prefix `test-` for test mail. So no
 * query ever mixes live and test mail.
 */
export function mailOwnerId({ workspaceId, isTest }: MailOwner): string {
  return isTest ? TEST_PREFIX + workspaceId : workspaceId;
}

/** Both ids under which a workspace's mail is kept. */
export function mailOwnerIdsOf(workspaceId: string): readonly [string, string] {
  return [workspaceId, TEST_PREFIX + workspaceId];
}

/** The inverse of {@link mailOwnerId}. */
export function mailOwnerOf(ownerId: string): MailOwner {
  const isTest = ownerId.startsWith(TEST_PREFIX);
  return { workspaceId: isTest ? ownerId.slice(TEST_PREFIX.length) : ownerId, isTest };
}
