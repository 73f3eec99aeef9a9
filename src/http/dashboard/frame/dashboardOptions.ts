import type { Dependencies } from "../../../commands/dependencies.ts";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import type { MailRecordFinding } from "../../../commands/sender/mailRecords.ts";
import type { Waiting } from "../../../domain/email/waitingReason.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { MailMessage } from "../../../ports/mail/mailTransport.ts";
import type { Checks } from "../../health/healthController.ts";
import type { ReadModel } from "../../lists/caughtUpReads.ts";
import type { SenderVerification } from "../../sender/senderVerification.ts";
import type { WebhooksOptions } from "../../webhook/webhookEndpointsController.ts";
import type { Maintenance, ReadModelState } from "../maintenance/maintenanceTasks.ts";

/** One thing that somebody looks after: the last seal of the log, say. */
export interface MaintenanceCheck {
  readonly name: string;
  /** `warning`: the service does its work, and somebody should know. */
  readonly status: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do; null where nothing is to be done. */
  readonly action: string | null;
}

/** Read models that lack more of the log than what was written just now. */
export interface ReadModelBuild {
  /** How much of the log the one that is furthest back holds, from 0 to 1. */
  readonly done: number;
  /** How old the oldest of what one of them lacks is, in ms. */
  readonly lagMs: number;
}

/** One of several relays. */
export interface RelayState {
  /** Host and port. */
  readonly name: string;
  /** Why it is left alone, and since when; null while it takes mail. The reason is in words of our own. */
  readonly resting: { readonly since: EpochMs; readonly reason: string } | null;
}

/** What the dashboard works with. */
export interface DashboardOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
  /** Where browsers find the service: BASE_URL. */
  readonly url: URL;
  readonly version: string;
  readonly readiness: () => Promise<Checks>;
  /** Whether the log goes on elsewhere: then nothing of it is shown or changed here. */
  readonly isFrozen: () => boolean | Promise<boolean>;
  /** Whether mail is written to files and goes nowhere else. */
  readonly isOutbox: boolean;
  /** Why a message has not ended; null when it has. */
  readonly readWaitingReason: (view: EmailView) => Promise<Waiting | null>;
  /** The bytes of a message as a relay gets them (RFC 5322). */
  readonly buildMime: (message: MailMessage) => Uint8Array<ArrayBuffer>;
  /** What `doctor` says of the log and its read models beyond readiness: looked up anew when it is old. */
  readonly upkeep: () => Promise<readonly MaintenanceCheck[]>;
  /** The status of the read models. */
  readonly readModelStates: () => Promise<readonly ReadModelState[]>;
  /** How far read models are that are being built; null while all keep up with the log. */
  readonly readModelBuild: () => Promise<ReadModelBuild | null>;
  /** The status of each of several relays; empty with only one, which readiness covers. */
  readonly relays: () => readonly RelayState[];
  readonly maintenance: Maintenance;
  readonly webhooks: Pick<WebhooksOptions, "rules" | "caughtUpEndpoints">;
  /** A read model, by its name. While it is being built nobody waits for it. */
  readonly readModel: (name: string) => ReadModel;
  readonly senderVerification: SenderVerification;
  /** What a domain publishes about its mail: looked up in the DNS, which may take seconds. Throws nothing. */
  readonly mailRecords: (domain: string) => Promise<readonly MailRecordFinding[]>;
}
