import { type DkimKey, dkimKeysFor, dkimRecord } from "../../kernel/crypto/dkimKeys.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";
import type { MailSigner } from "../../ports/mail/mailSigner.ts";

/**
 * The header fields to sign if present (RFC 6376 §5.4). The library's own list lacks List-Unsubscribe-Post, which must
 * be signed for one-click unsubscribing (RFC 8058 §4).
 */
const SIGNED = [
  ...["From", "To", "Subject", "Reply-To", "Date", "Message-ID", "MIME-Version", "Content-Type"],
  ...["Content-Transfer-Encoding", "In-Reply-To", "References", "Auto-Submitted", "Feedback-ID", "List-Id"],
  ...["List-Help", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Subscribe", "List-Post", "List-Owner"],
  "List-Archive",
];

/** The same names as the library's parser writes them. */
const SIGNED_KEYS: ReadonlySet<string> = new Set(SIGNED.map((name) => name.toLowerCase()));

/**
 * The fields to oversign: signed once more than they occur, so that nobody can add one (RFC 6376 §8.15), such as a
 * second From or Subject for a reader to show, or somebody else's address for replies or for leaving the list.
 */
const OVERSIGNED = ["From", "To", "Subject", "Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post"];

/** A header field as the library has parsed it. */
interface ParsedField {
  readonly key: string;
  /** The name as it appears in the signature's list of fields. */
  casedKey: string;
}

/**
 * Adds the names in {@link OVERSIGNED} to the signature's list once more; a name without a field left counts as absent
 * (RFC 6376 §5.4.2). The library lists only existing fields, from last to first. So the names are appended to that of
 * the first field, where none refers to an existing field any more.
 */
function oversign({ parsed }: { readonly parsed: readonly ParsedField[] }): void {
  const last = parsed.find(({ key }) => SIGNED_KEYS.has(key));
  if (last !== undefined) last.casedKey = [last.casedKey, ...OVERSIGNED].join(": ");
}

/** The library shows a mail's header before signing only through its hook for ARC, which we do not use otherwise. */
const OVERSIGNING = {
  getARChain(headers: Parameters<typeof oversign>[0]) {
    oversign(headers);
    return [];
  },
};

/** Signs with DKIM (RFC 6376), with every key of the sender's domain. */
export function dkimSigner(keys: readonly DkimKey[]): MailSigner {
  return {
    async sign(mail, from) {
      const own = dkimKeysFor(keys, domainOf(from)).map(({ domain, ...key }) => ({
        signingDomain: domain,
        ...key,
      }));
      const [first] = own;
      if (first === undefined) return mail;
      // Loaded only if there is a key, because loading it takes a third of the program's start.
      const { dkimSign } = await import("mailauth/lib/dkim/sign");
      const { signatures, errors } = await dkimSign(mail, {
        ...first,
        canonicalization: "relaxed/relaxed",
        headerList: SIGNED,
        signatureData: own,
        ...OVERSIGNING,
      });
      const [failure] = errors;
      if (failure)
        throw new Error(`DKIM: the key ${failure.selector ?? ""} does not sign: ${failure.err?.message}`);
      if (signatures.split(/^DKIM-Signature:/im).length - 1 !== own.length) {
        throw new Error("DKIM: not every key of the domain has signed");
      }
      return Buffer.concat([Buffer.from(signatures), mail]);
    },
  };
}

/**
 * Tries a key: signs a mail with it and verifies that with the record to be published. Returns what is wrong; null if
 * nothing is.
 */
export async function dkimKeyFault(key: DkimKey): Promise<string | null> {
  const from = `postmaster@${key.domain}`;
  const mail = Buffer.from(`From: ${from}\r\nTo: ${from}\r\nSubject: A trial\r\n\r\nSigned?\r\n`);
  try {
    const { dkimVerify } = await import("mailauth/lib/dkim/verify");
    const signed = await dkimSigner([key]).sign(mail, from);
    const { results } = await dkimVerify(signed, { resolver: async () => [[dkimRecord(key).value]] });
    const [result] = results;
    return result?.status.result === "pass"
      ? null
      : `its signature is ${result?.status.result ?? "not there"}`;
  } catch (error) {
    return (error as Error).message;
  }
}
