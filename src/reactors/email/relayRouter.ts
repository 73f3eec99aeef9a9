import { LRUCache } from "lru-cache";
import type { DueEmail } from "../../../projections/emails/mailQueue.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { senderIdOf } from "../../commands/sender/senderId.ts";
import type { RelayGroups } from "../../domain/email/delivery/relayGroups.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";

/** What decides which relays a message goes over. */
export type RoutedMail = Pick<DueEmail, "workspaceId" | "senderId" | "authorityId">;

/** Finds the group of relays for a message: its number, or null if no relay is for it. */
export interface RelayRouter {
  /** As `groupOf`, but undefined if that would have to read the sender. */
  known(mail: RoutedMail): number | null | undefined;
  /** Throws `StoreError` if the sender cannot be read. */
  groupOf(mail: RoutedMail): Promise<number | null>;
  /** Whether there is no mail without a relay. */
  readonly isForAll: boolean;
}

/** The relays as the settings divide them. */
export type DividedRelays = Omit<RelayGroups<unknown>, "groups">;

/** Senders whose group is remembered. It never changes while the service runs. */
const SENDERS_MAX = 50_000;

/** Goes by From. Read models know a message's sender only by its id, so it reads the sender that authorizes it. */
export function relayRouter(
  { senders, keys }: Pick<Dependencies, "senders" | "keys">,
  relays: DividedRelays,
): RelayRouter {
  const { isForAll } = relays;
  if (relays.isUndivided) return { isForAll, known: () => 0, groupOf: async () => 0 };
  const routes = new LRUCache<string, { readonly group: number | null }>({ max: SENDERS_MAX });

  /** The address if a relay names it, else only its domain. */
  const fromAt = (domain: string, { workspaceId, senderId }: RoutedMail): string => {
    const isSender = (address: string) =>
      senderIdOf(keys, workspaceId, { kind: "address", address: { sent: address, canonical: address } }) ===
      senderId;
    const named = relays.addresses.find((address) => domainOf(address) === domain && isSender(address));
    return named ?? domain;
  };

  const learn = async (mail: RoutedMail): Promise<number | null> => {
    const authority = await senders.get(mail.authorityId);
    // Never of an accepted message.
    if (authority === null) return null;
    const { kind, name } = authority;
    const from = kind === "address" ? name.toLowerCase() : fromAt(name, mail);
    const group = relays.groupOf({ from, workspaceId: mail.workspaceId });
    routes.set(mail.senderId, { group });
    return group;
  };

  const known = ({ senderId }: RoutedMail) => routes.get(senderId)?.group;
  return {
    isForAll,
    known,
    async groupOf(mail) {
      const group = known(mail);
      return group === undefined ? learn(mail) : group;
    },
  };
}
