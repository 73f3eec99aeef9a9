import { fieldOf, type ReportFields, reportFields } from "./dsnAndArfFields.ts";

/** What a server reports that it did (RFC 3464 §2.3.3). `delayed`, `relayed` and `expanded` are not final. */
export type DeliveryAction = "failed" | "delivered" | "delayed" | "relayed" | "expanded";

/** What a report says about one recipient. */
export interface RecipientStatus {
  readonly action: DeliveryAction;
  /** RFC 3463: `5.1.1`; "" when there is none. */
  readonly status: string;
  /** The remote server's reply, without its type; "" if the report gives none. */
  readonly diagnostic: string;
  /** Whom the server tried to deliver to, who may be a member of an alias; absent or "" if it does not say. */
  readonly recipient?: string;
  /** Whether others got the message, according to the same report. */
  readonly isPartial?: boolean;
}

const STATUS = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)/;
/** Before a value: `smtp; `, `rfc822;`. */
const TYPE = /^[\w.-]{1,40}[ \t]*;[ \t]*/;

/** The words that servers use, whether the RFC has them or not. */
const ACTIONS: ReadonlyMap<string, DeliveryAction> = new Map([
  ["failed", "failed"],
  ["failure", "failed"],
  ["fail", "failed"],
  ["error", "failed"],
  ["expired", "failed"],
  ["delivered", "delivered"],
  ["delayed", "delayed"],
  ["deferred", "delayed"],
  ["relayed", "relayed"],
  ["expanded", "expanded"],
]);

/** If a report names several recipients, the worst status counts. */
const WORST_FIRST: readonly DeliveryAction[] = ["failed", "delivered", "delayed", "relayed", "expanded"];

function actionOf(fields: ReportFields, status: string): DeliveryAction {
  const [word = ""] = /^[a-z]+/.exec(fieldOf(fields, "action").toLowerCase()) ?? [];
  const action = ACTIONS.get(word);
  if (action !== undefined) return action;
  if (status.startsWith("2.")) return "delivered";
  return status.startsWith("4.") ? "delayed" : "failed";
}

function recipientStatus(fields: ReportFields): RecipientStatus | null {
  if (!["action", "status", "final-recipient", "diagnostic-code"].some((name) => fields.has(name)))
    return null;
  const [status = ""] = STATUS.exec(fieldOf(fields, "status")) ?? [];
  const diagnostic = fieldOf(fields, "diagnostic-code").replace(TYPE, "");
  const recipient = fieldOf(fields, "final-recipient").replace(TYPE, "").replace(/^<|>$/g, "");
  return { action: actionOf(fields, status), status, diagnostic, recipient };
}

/** The recipient's status in a delivery status notification (RFC 3464); null when it holds none. */
export function parseDeliveryStatus(report: string): RecipientStatus | null {
  const statuses = reportFields(report).flatMap((fields) => recipientStatus(fields) ?? []);
  const rank = ({ action }: RecipientStatus) => WORST_FIRST.indexOf(action);
  const [worst] = statuses.toSorted((one, other) => rank(one) - rank(other));
  const isPartial = statuses.some(({ action }) => action === "delivered" || action === "relayed");
  return worst === undefined ? null : { ...worst, isPartial };
}
