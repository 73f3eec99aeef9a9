export const SCOPES = [
  "email:send",
  "email:read",
  "email:status",
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
  "email:status",
  "attachment:manage",
] as const satisfies readonly (typeof SCOPES)[number][];

export type Scope = (typeof SCOPES)[number];

/** The scopes that permit what another one permits, and more. */
const WIDER: ReadonlyMap<string, readonly Scope[]> = new Map([["email:status", ["email:read"]]]);

/** The scopes of which one is enough where `scope` is needed: itself first. */
export function scopesPermitting(scope: string): readonly string[] {
  return [scope, ...(WIDER.get(scope) ?? [])];
}

/** Whether a key with these scopes may do what needs `scope`. */
export function permits(held: ReadonlySet<string>, scope: string): boolean {
  return scopesPermitting(scope).some((one) => held.has(one));
}

export function isTestScope(scope: string): boolean {
  return (TEST_SCOPES as readonly string[]).includes(scope);
}

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
