/** All scopes that a key can have. */
export const SCOPES = [
  "email:send",
  "email:read",
  "webhook:manage",
  "template:manage",
  "attachment:manage",
  "suppression:manage",
  "feedback:write",
  "sender:manage",
  "workspace:manage",
] as const;

/** The scopes that a test key can have: none that affects live mail. */
export const TEST_SCOPES = [
  "email:send",
  "email:read",
  "attachment:manage",
] as const satisfies readonly (typeof SCOPES)[number][];

export type Scope = (typeof SCOPES)[number];

export function isTestScope(scope: string): boolean {
  return (TEST_SCOPES as readonly string[]).includes(scope);
}

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
