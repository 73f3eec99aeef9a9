/**
 * The ids that relays give to messages they accept: hexadecimal groups (SES, Postmark, UUIDs) with at least one digit
 * and one letter, or Postfix's long ids, which have no vowels. Any other form could be somebody's name.
 */
const RELAY_ID =
  /(?<![\w@.=+-])(?=[\da-f-]*\d)(?=[\da-f-]*[a-f])[\da-f]{8,}(?:-[\da-f]{4,})*(?:-\d{6})?(?![\w@.=+-])|(?<=\bqueued as )(?=\d*[a-z])[\dB-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{10,20}(?![\w@.=+-])/i;

function namesAny(id: string, names: readonly string[]): boolean {
  const plain = id.toLowerCase();
  const decoded = Buffer.from(plain.replaceAll("-", ""), "hex").toString("latin1").toLowerCase();
  return names.some((name) => {
    const local = name.slice(0, name.lastIndexOf("@")).toLowerCase();
    return local !== "" && (plain.includes(local) || local.includes(plain) || decoded.includes(local));
  });
}

/** The relay's own id of an accepted message. Undefined without one, or if it could name one of `addresses`. */
export function relayIdOf(reply: string, addresses: readonly string[]): string | undefined {
  const id = RELAY_ID.exec(reply)?.[0];
  return id === undefined || namesAny(id, addresses) ? undefined : id;
}
