import type { Dependencies } from "../../../commands/dependencies.ts";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import type { MailRecordFinding } from "../../../commands/sender/mailDnsRecords.ts";
import type { Waiting } from "../../../domain/email/waitingReason.ts";
import type { RateSettings } from "../../../domain/workspace/sendingRates.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { MailMessage } from "../../../ports/mail/mailTransport.ts";
import type { Checks } from "../../health/healthController.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import type { SenderVerification } from "../../sender/verifySender.ts";
import type { DestinationRules } from "../../webhook/webhookUrlCheck.ts";
import type { LoginProxy } from "../login/loginProxy.ts";
import type { Maintenance, ReadModelState } from "../maintenance/maintenanceTasks.ts";

/** One maintenance check: the last seal of the log, for instance. */
export interface MaintenanceCheck {
  readonly name: string;
  /** `warning`: the service works, but somebody should know. */
  readonly status: "ok" | "warning" | "failed";
  readonly detail: string;
  /** What to do; null if nothing. */
  readonly action: string | null;
}

/** Read models that lack more than the latest events. */
export interface ReadModelBuild {
  /** How much of the log the slowest of them has read, from 0 to 1. */
  readonly done: number;
  /** The age of the oldest event that one of them lacks, in ms. */
  readonly lagMs: number;
}

export interface RelayState {
  /** Host and port. */
  readonly name: string;
  /** Why it takes no mail, and since when; null while it does. For the operator. */
  readonly trouble: { readonly since: EpochMs; readonly reason: string } | null;
}

/** What the dashboard needs. */
export interface DashboardOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
  /** BASE_URL, where browsers reach the service. */
  readonly url: URL;
  readonly version: string;
  readonly readiness: () => Promise<Checks>;
  /** Whether the log continues elsewhere: then nothing of it is shown or changed here. */
  readonly isFrozen: () => boolean | Promise<boolean>;
  /** Whether mail is only written to files. */
  readonly isOutbox: boolean;
  /** At which people log in; null: with keys and links only. */
  readonly loginProxy: LoginProxy | null;
  /** Why a message has not ended; null when it has. */
  readonly readWaitingReason: (view: EmailView) => Promise<Waiting | null>;
  /** The bytes of a message as a relay gets them (RFC 5322). */
  readonly buildMime: (message: MailMessage) => Uint8Array<ArrayBuffer>;
  /** What `doctor` reports beyond readiness and concerns whoever looks; refreshed when it is old. */
  readonly upkeep: (workspaceId: string, isOperator: boolean) => Promise<readonly MaintenanceCheck[]>;
  /** The name of the file with the key that a first start has made, in a trial and while the key works; else null. */
  readonly trialKeyFile: () => Promise<string | null>;
  /** The status of the read models. */
  readonly readModelStates: () => Promise<readonly ReadModelState[]>;
  /** The progress of read models being built; null while all are caught up. */
  readonly readModelBuild: () => Promise<ReadModelBuild | null>;
  /** The status of each of several relays; a single one is there only while it is in trouble. */
  readonly relays: () => readonly RelayState[];
  /** Which bounce and complaint rates are too high. */
  readonly sendingRates: RateSettings;
  readonly maintenance: Maintenance;
  readonly destinationRules: DestinationRules;
  /** A read model, by its name. Nobody waits for it while it is being built. */
  readonly readModel: ListSource["readModel"];
  readonly senderVerification: SenderVerification;
  /** The mail records that a domain publishes, looked up in DNS, which may take seconds. Never throws. */
  readonly mailRecords: (domain: string) => Promise<readonly MailRecordFinding[]>;
}
