/**
 * The ids that relays give to messages they accept, in forms that cannot be anybody's name; the words around some of them
 * are part of the form.
 */
const RELAY_IDS: readonly RegExp[] = [
  // Exim: base 62, and the time in it begins with a digit.
  /(?<=\bid=)\d[\dA-Za-z]{5}-(?:[\dA-Za-z]{6}-[\dA-Za-z]{2}|[\dA-Za-z]{11}-[\dA-Za-z]{4})(?![\w@.=+-])/,
  // Gmail.
  /(?<=\s)(?=[a-z]*\d)[\da-z]{1,40}-(?=[a-z]*\d)[\da-z]{1,80}\.\d{1,4}(?= - gsmtp$)/,
  // Sendmail: year, month, day and hour in base 60, four more characters, the process.
  /(?<=\s)[\dA-Za-x][\dAB][\dA-V][\dA-N][\dA-Za-x]{4}\d{5,10}(?= Message accepted for delivery)/,
  // Exchange.
  /(?<=\[InternalId=)\d{5,20}(?=[,\]])/,
  // SES, Postmark, UUIDs, short ids of Postfix: hexadecimal groups with at least one digit and one letter.
  /(?<![\w@.=+-])(?=[\da-f-]*\d)(?=[\da-f-]*[a-f])[\da-f]{8,}(?:-[\da-f]{4,})*(?:-\d{6})?(?![\w@.=+-])/i,
  // Long ids of Postfix, which have no vowels.
  /(?<=\bqueued as )(?=\d*[a-z])[\db-df-hj-np-tv-z]{10,20}(?![\w@.=+-])/i,
  // Short ids of others: without vowels too, and with at least one digit and one letter.
  /(?<=\bqueued as )(?=\d*[a-z])(?=[a-z]*\d)[\db-df-hj-np-tv-z]{2,9}(?![\w@.=+-])/i,
];

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
  for (const form of RELAY_IDS) {
    const id = form.exec(reply)?.[0];
    if (id !== undefined) return namesAny(id, addresses) ? undefined : id;
  }
  return undefined;
}
