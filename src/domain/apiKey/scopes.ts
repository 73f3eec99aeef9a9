/** Everything that a key can be allowed to do. */
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

export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
