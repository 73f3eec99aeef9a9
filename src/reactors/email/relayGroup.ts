import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { MailTransport } from "../../ports/mail/mailTransport.ts";
import type { RelayDeferralReports } from "./relayDeferralReports.ts";
import type { RelayOutageReports } from "./relayOutageReports.ts";

/** Relays that the same mail goes over. */
export interface RelayGroup {
  /** Host and port of each, for people. */
  readonly relays: readonly string[];
  readonly transport: MailTransport;
  /** Told of every failure and success of these relays. */
  readonly outageReports: RelayOutageReports;
  /** Told of each message that one of them has deferred or accepted. */
  readonly deferralReports: RelayDeferralReports;
}

/** A group of relays that takes no mail. */
export interface RelayGroupTrouble extends Pick<RelayGroup, "relays"> {
  readonly fault: RelayFault;
  readonly forMs: number;
}
