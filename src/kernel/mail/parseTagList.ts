/** The tags of a DKIM key or a DMARC record: `name=value`, separated by semicolons. The first of a name counts. */
export function parseTagList(record: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  for (const part of record.split(";")) {
    const [, name, value] = /^\s*([a-z][a-z0-9_]*)\s*=(.*)$/is.exec(part) ?? [];
    if (name !== undefined && value !== undefined) tags.getOrInsert(name.toLowerCase(), value.trim());
  }
  return tags;
}
