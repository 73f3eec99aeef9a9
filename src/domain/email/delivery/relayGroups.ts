import { domainOf } from "../../../kernel/text/emailAddress.ts";

/** What mail a relay is for; what is absent does not restrict it. */
export interface RelayScope {
  /** Addresses in lower case, domains, and `*.` before a domain for its subdomains. */
  readonly senders?: ReadonlySet<string> | undefined;
  /** Ids of workspaces. */
  readonly workspaces?: ReadonlySet<string> | undefined;
}

/** Whom mail comes from. */
export interface MailOrigin {
  /** The address in From, in lower case. Its domain alone does, if no relay names the address. */
  readonly from: string;
  /** Null for the service's own mail. */
  readonly workspaceId: string | null;
}

/** Each group has its own queue, breaker and workers. */
export const RELAY_GROUPS_MAX = 20;

/**
 * The relays for mail of this origin. The most specific scope counts: one that names the address, then the domain, then
 * a domain above it, then no sender; among equals one that names the workspace. None if every relay is for other mail.
 */
export function relaysFor<Relay extends RelayScope>(
  relays: readonly Relay[],
  { from, workspaceId }: MailOrigin,
): readonly Relay[] {
  for (const sender of namesOf(from)) {
    for (const workspace of [workspaceId, null]) {
      const found = relays.filter(
        ({ senders, workspaces }) => isNamed(senders, sender) && isNamed(workspaces, workspace),
      );
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** What a relay may name a sender by, the most specific first; null: not at all. */
function namesOf(from: string): readonly (string | null)[] {
  const domain = domainOf(from);
  const labels = domain.split(".");
  const above = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join(".")}`);
  return [from, domain, ...above, null];
}

function isNamed(names: ReadonlySet<string> | undefined, name: string | null): boolean {
  return name === null ? names === undefined : names?.has(name) === true;
}

/** Relays divided into groups: all mail of one origin goes over one group. A relay may be in several. */
export interface RelayGroups<Relay> {
  readonly groups: readonly (readonly Relay[])[];
  /** The number of the group for mail of this origin; null if no relay is for it. */
  groupOf(origin: MailOrigin): number | null;
  /** Whether all mail goes over one group. */
  readonly isUndivided: boolean;
  /** Whether a relay is for whatever mail no other relay names. */
  readonly isForAll: boolean;
  /** The addresses that relays name. */
  readonly addresses: readonly string[];
}

/** Stops when it has found one group more than {@link RELAY_GROUPS_MAX}, which settings may not have. */
export function relayGroups<Relay extends RelayScope>(relays: readonly Relay[]): RelayGroups<Relay> {
  const keyOf = (found: readonly Relay[]) => found.map((relay) => relays.indexOf(relay)).join();
  const groups = new Map<string, readonly Relay[]>();
  for (const origin of origins(relays)) {
    const found = relaysFor(relays, origin);
    if (found.length > 0) groups.set(keyOf(found), found);
    if (groups.size > RELAY_GROUPS_MAX) break;
  }
  const keys = [...groups.keys()];
  const named = relays.flatMap(({ senders }) => [...(senders ?? [])]);
  return {
    groups: [...groups.values()],
    groupOf(origin) {
      const found = relaysFor(relays, origin);
      return found.length === 0 ? null : keys.indexOf(keyOf(found));
    },
    isUndivided: relays.every(isUnrestricted),
    isForAll: relays.some(isUnrestricted),
    addresses: [...new Set(named.filter((name) => name.includes("@")))],
  };
}

function isUnrestricted({ senders, workspaces }: RelayScope): boolean {
  return senders === undefined && workspaces === undefined;
}

/**
 * One origin of each kind that the scopes tell apart. What is named stands for itself, `*.` with a domain for the
 * subdomains that nobody names, "" and null for whatever is not named.
 */
function* origins(relays: readonly RelayScope[]): Iterable<MailOrigin> {
  const senders = new Set(["", ...relays.flatMap((relay) => [...(relay.senders ?? [])])]);
  for (const workspaceId of [null, ...distinctWorkspaces(relays)])
    for (const from of senders) yield { from, workspaceId };
}

/** Of the workspaces that the same relays name, one. */
function distinctWorkspaces(relays: readonly RelayScope[]): Iterable<string> {
  const ids = new Set(relays.flatMap(({ workspaces }) => [...(workspaces ?? [])]));
  const naming = (id: string) => relays.map(({ workspaces }) => Number(isNamed(workspaces, id))).join("");
  return new Map([...ids].map((id) => [naming(id), id] as const)).values();
}
