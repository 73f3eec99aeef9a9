import { dkimSign } from "mailauth/lib/dkim/sign";
import { dkimVerify } from "mailauth/lib/dkim/verify";
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
      const { signatures, errors } = await dkimSign(mail, {
        ...first,
        canonicalization: "relaxed/relaxed",
        headerList: SIGNED,
        signatureData: own,
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
