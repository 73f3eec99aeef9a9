import { type DkimKey, dkimKeysFor, dkimRecord } from "../../kernel/crypto/dkimKeys.ts";
import { domainOf } from "../../kernel/text/emailAddress.ts";
import type { MailSigner } from "../../ports/mail/mailSigner.ts";

/**
 * What is signed where it is there (RFC 6376 §5.4). The library's own list lacks List-Unsubscribe-Post, without which one
 * click does not count (RFC 8058 §4).
 */
const SIGNED = [
  ...["From", "To", "Subject", "Reply-To", "Date", "Message-ID", "MIME-Version", "Content-Type"],
  ...["Content-Transfer-Encoding", "In-Reply-To", "References", "Auto-Submitted", "Feedback-ID", "List-Id"],
  ...["List-Help", "List-Unsubscribe", "List-Unsubscribe-Post", "List-Subscribe", "List-Post", "List-Owner"],
  "List-Archive",
];

/** As the library's parser has them. */
const SIGNED_KEYS: ReadonlySet<string> = new Set(SIGNED.map((name) => name.toLowerCase()));

/**
 * What is oversigned: signed once more than it is there, so that none can be added (RFC 6376 §8.15): a second From or Subject that a
 * reader shows, an address for replies or for leaving the list that is somebody else's.
 */
const OVERSIGNED = ["From", "To", "Subject", "Reply-To", "List-Unsubscribe", "List-Unsubscribe-Post"];

/** A header field as the library has parsed it. */
interface ParsedField {
  readonly key: string;
  /** Goes into the signature's list of fields as it is. */
  casedKey: string;
}

/**
 * Puts the names of {@link OVERSIGNED} on the signature's list once more: a name with no field left stands for nothing (RFC
 * 6376 §5.4.2). The library lists fields that are there alone, from the last to the first: so the names go behind that of
 * the first, where none stands for a field any more.
 */
function oversign({ parsed }: { readonly parsed: readonly ParsedField[] }): void {
  const last = parsed.find(({ key }) => SIGNED_KEYS.has(key));
  if (last !== undefined) last.casedKey = [last.casedKey, ...OVERSIGNED].join(": ");
}

/** The library's one way to see a mail's header before it is signed is meant for ARC, of which there is none here. */
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
      // Loaded only when there is a key: it costs every start of the program a third of its time.
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
 * Tries a key: signs a mail with it, and has that verified with the record that is to be published. Answers what is
 * wrong; null when all is well.
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
