import { type AddressRange, parseAddressRange } from "../../kernel/network/clientIp.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** A setting that lists addresses and ranges of them. */
export function addressRanges(reader: EnvironmentReader, name: string): readonly AddressRange[] {
  const texts = reader.list(name);
  const isRange = (text: string) => parseAddressRange(text) !== null;
  const must = "addresses or CIDR ranges, separated by commas: 10.0.0.0/8,fd00::/8";
  reader.requireEach(name, texts, isRange, must);
  return texts.map(parseAddressRange).filter((range) => range !== null);
}
