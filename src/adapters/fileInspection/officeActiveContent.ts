import { unescapeXml } from "../../kernel/text/unescapeXml.ts";
import { XML_ENCODING } from "./textInspection.ts";
import { XmlReader, type XmlTag, type XmlVisitor } from "./xmlReader.ts";

/** Fields that fetch data from another program: at once (DDEAUTO), or when the reader permits it (DDE, LINK). */
const REACHING_FIELDS = ["DDEAUTO", "DDE", "LINK"];
/** Elements of SpreadsheetML and ODF that do the same. */
const REACHING_ELEMENTS = new Set(["ddeLink", "oleLink", "dde-source", "dde-connection-decl", "object-ole"]);
/** Longer than any field name, however its letters are written. */
const INSTRUCTION_CHARS_MAX = 4_096;
/** A file on the reader's own disk, or beside the document: opening it contacts nobody else. */
const LOCAL_TARGET = /^(?:file:\/\/\/)?[a-z]:[\\/]|^(?![\\/])[^:]*$/i;

const PROGRAM = "makes something run";
const OUTSIDE = "holds a link to a template or object outside of it";
const REACHING = "holds a DDE or OLE link";
const EMBEDDED = "holds an OLE object";

/** What is wrong with a part's relationship (ECMA-376 part 2 §8.5). Only hyperlinks may lead outside the document. */
function relationshipFault(attributes: XmlTag["attributes"]): string | null {
  const type = attributes.get("Type")?.trim() ?? "";
  const kind = type.slice(type.lastIndexOf("/") + 1).toLowerCase();
  if (kind === "oleobject") return EMBEDDED;
  if (kind === "afchunk") return "holds a document in another format";
  if (attributes.get("TargetMode")?.trim().toLowerCase() !== "external" || kind === "hyperlink") return null;
  return LOCAL_TARGET.test(attributes.get("Target")?.trim() ?? "") ? null : OUTSIDE;
}

/** Checks the start of a field's instruction. `isOpen`: a nested field may still add to its name. */
function instructionFault(text: string, isOpen: boolean): string | null {
  const begun = unescapeXml(text).trimStart();
  const name = /^\S*/.exec(begun)?.[0].toUpperCase() ?? "";
  const isEnded = begun.length > name.length;
  // The rest of the name was not kept.
  if (!isEnded && text.length >= INSTRUCTION_CHARS_MAX) return REACHING;
  const isWhole = !isOpen || isEnded;
  const reaches = REACHING_FIELDS.some((field) => (isWhole ? field === name : field.startsWith(name)));
  return reaches ? REACHING : null;
}

/** Looks for anything that makes an opened office document fetch or run something: DDE, OLE, outside templates. */
class OfficeVisitor implements XmlVisitor {
  fault: string | null = null;
  /** The instructions of the open fields; null for a field whose instruction has been checked. */
  private readonly fields: (string | null)[] = [];
  private isInstruction = false;

  tag({ name, attributes }: XmlTag): void {
    this.fault ??= this.tagFault(name, attributes);
  }

  end(name: string): void {
    if (name === "instrText") this.isInstruction = false;
  }

  text(text: string): void {
    if (!this.isInstruction) return;
    const last = this.fields.length - 1;
    const begun = this.fields[last];
    if (typeof begun !== "string" || begun.length >= INSTRUCTION_CHARS_MAX) return;
    this.fields[last] = (begun + text).trimStart();
  }

  private tagFault(name: string, attributes: XmlTag["attributes"]): string | null {
    if (REACHING_ELEMENTS.has(name)) return name === "object-ole" ? EMBEDDED : REACHING;
    if (/^ppaction:\/\/(?:program|macro|ole)/i.test(attributes.get("action")?.trim() ?? "")) return PROGRAM;
    switch (name) {
      case "Relationship":
        return relationshipFault(attributes);
      case "fldSimple":
        return instructionFault(attributes.get("instr") ?? "", false);
      case "instrText":
        this.isInstruction = true;
        return null;
      case "fldChar":
        return this.fieldFault(attributes.get("fldCharType"));
      default:
        return null;
    }
  }

  private fieldFault(kind: string | undefined): string | null {
    if (kind !== "begin" && kind !== "separate" && kind !== "end") return null;
    const last = this.fields.length - 1;
    const instruction = this.fields[last];
    // Once is enough: a name that is sound so far stays so, and there may be thousands of nested fields.
    if (instruction !== undefined) this.fields[last] = null;
    if (kind === "begin") this.fields.push("");
    if (kind === "end") this.fields.pop();
    // A nested field may supply letters of the name: QUOTE returns any text.
    return typeof instruction === "string" ? instructionFault(instruction, kind === "begin") : null;
  }
}

const NOT_UNICODE = "holds XML that is not Unicode";
const DECLARATION_CHARS_MAX = 1_000;

/** The encoding by the first bytes (XML 1.0 appendix F); null if it is not XML. */
function encodingOf(head: Buffer): "utf-8" | "utf-16le" | "utf-16be" | null {
  const start = head.toString("hex", 0, 4);
  if (/^(?:fffe)?3c00/.test(start)) return "utf-16le";
  if (/^(?:feff)?003c/.test(start)) return "utf-16be";
  return /^(?:\xef\xbb\xbf)?\s*(?:<|$)/.test(head.toString("latin1")) ? "utf-8" : null;
}

/** Checks one file of an office document while it is unpacked. Accepts anything that is not XML. */
export class OfficeActiveContent {
  private readonly visitor = new OfficeVisitor();
  private readonly reader: XmlReader;
  /** Undefined before the first bytes, null if they are not XML. */
  private decoder: TextDecoder | null | undefined;

  /** `extension`: of the file's name, in lower case. */
  constructor(extension: string) {
    this.reader = new XmlReader(this.visitor, extension === "svg");
  }

  /** Reads on. Returns what is wrong so far, as the end of a sentence, or null. After a fault it reads no more. */
  read(bytes: Uint8Array, isLast: boolean): string | null {
    const isFirst = this.decoder === undefined;
    if (isFirst) this.decoder = this.begin(Buffer.from(bytes.subarray(0, DECLARATION_CHARS_MAX)));
    if (!this.decoder) return null;
    try {
      const text = this.decoder.decode(bytes, { stream: !isLast });
      const encoding = isFirst ? XML_ENCODING.exec(text.slice(0, DECLARATION_CHARS_MAX))?.[1] : undefined;
      // In another encoding the same bytes could be different tags.
      if (encoding !== undefined && !/^(?:utf-8|utf-16|us-ascii)$/i.test(encoding)) return NOT_UNICODE;
      return this.reader.read(text) ?? this.visitor.fault;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      // XML in another encoding has to declare it. Anything else is not XML: a scrambled font may begin with any byte.
      if (!isFirst || Buffer.from(bytes.subarray(0, 5)).toString("latin1") === "<?xml") return NOT_UNICODE;
      this.decoder = null;
      return null;
    }
  }

  private begin(head: Buffer): TextDecoder | null {
    const encoding = encodingOf(head);
    return encoding === null ? null : new TextDecoder(encoding, { fatal: true });
  }
}
