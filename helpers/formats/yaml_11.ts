import { Composer, CST, isAlias, isCollection, isMap, isPair, isScalar, isSeq, Lexer, Parser } from "yaml";
import type { Alias, ErrorCode, ParsedNode, Scalar, YAMLMap, YAMLSeq } from "yaml";

import { plainScalarType, readBlockScalar, readScalar, YamlTimestamp } from "./yaml_11_scalars.ts";
import type { YamlScalar } from "./yaml_11_scalars.ts";

export { YamlTimestamp } from "./yaml_11_scalars.ts";

/** More values than a configuration holds, each alias counted as what it stands for: no alias bomb gets past it. */
const MAX_VALUES = 10_000;
/** Deeper than any configuration, well within the stack. */
const MAX_DEPTH = 200;
/** Longest text, in UTF-16 code units. */
const MAX_LENGTH = 131_072;

const TAG_PREFIX = "tag:yaml.org,2002:";
/** Stands for `<<` among the identities of keys. */
const MERGE = "<<";

/** The text is not a usable YAML 1.1 document. The message says where and what is wrong and never quotes the text. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  /** 1-based. */
  readonly line: number;
  /** 1-based, in UTF-16 code units. */
  readonly column: number;

  constructor(what: string, line: number, column: number) {
    super(`line ${line}, column ${column}: ${what}`);
    this.line = line;
    this.column = column;
  }
}

/**
 * Reads a text as the framework reads `default_config.yaml` and `plugin.yaml`: YAML 1.1 by PyYAML's safe loader
 * (vectors `yaml_loads`). Departures: a repeated key, NaN and infinities are errors (SPEC P2.2), and so are more than
 * 10,000 values (an alias counts as what it stands for), 200 levels and 128 Ki characters of text.
 *
 * @param text - the whole text
 * @returns `null`, a boolean, a number, a bigint (integers beyond 2^53 - 1), a string, a {@link YamlTimestamp}, a
 *   `Uint8Array` (`!!binary`), an array (pairs of `!!omap` and `!!pairs` are arrays of two), a `Set` (`!!set`), a `Map`
 *   where a key is no text, else a plain object whose keys, `__proto__` included, are its own properties. A value that
 *   refers to itself comes out as it is.
 * @throws YamlError when the text is not one well-formed document
 * @throws TypeError when `text` is no string
 */
export function parseYaml11(text: string): unknown {
  if (typeof text !== "string") throw new TypeError("parseYaml11 reads a string");
  const source = readableText(text);
  checkTokens(source);
  const root = composeDocument(source);
  return new Construction(source, root).construct(root);
}

function fail(source: string, offset: number, what: string): never {
  const before = source.slice(0, offset);
  const line = before.split("\n").length;
  throw new YamlError(what, line, offset - before.lastIndexOf("\n"));
}

/** Gives the text with every line break of YAML 1.1 that reads as a line feed written as one. */
function readableText(text: string): string {
  const source = text.replace(/^\uFEFF/, "").replace(/\r\n?|\x85/g, "\n");
  if (source.length > MAX_LENGTH) fail(source, MAX_LENGTH, "the text is too long");
  const foreign = source.search(/[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u);
  if (foreign !== -1) fail(source, foreign, "a control character, a line separator or half a surrogate pair");
  return source;
}

/** What the tokens read so far say about the next one. */
interface TokenContext {
  readonly previous: string | null;
  readonly flowLevel: number;
  readonly inBlockScalar: boolean;
  readonly inDocument: boolean;
}

/** Refuses what the parser below takes as YAML 1.2 does, where PyYAML refuses it or reads something else. */
function checkTokens(source: string): void {
  let offset = 0;
  let context: TokenContext = { previous: null, flowLevel: 0, inBlockScalar: false, inDocument: false };
  for (const token of new Lexer().lex(source)) {
    const type = tokenType(token, context);
    const what = tokenFault(type, token, context);
    if (what !== null) fail(source, offset, what);
    context = after(type, context);
    // The lexer's own marks stand for no text.
    if (!MARKS.has(token)) offset += token.length;
  }
}

const MARKS: ReadonlySet<string> = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

function tokenType(token: string, { previous, inBlockScalar }: TokenContext): string | null {
  if (previous === "scalar") return inBlockScalar ? "block-text" : "plain-text";
  return CST.tokenType(token);
}

function after(type: string | null, { flowLevel, inBlockScalar, inDocument }: TokenContext): TokenContext {
  const opens = type === "flow-map-start" || type === "flow-seq-start";
  const closes = type === "flow-map-end" || type === "flow-seq-end";
  return {
    previous: type,
    flowLevel: flowLevel + (opens ? 1 : 0) - (closes ? 1 : 0),
    inBlockScalar: type === "block-scalar-header" || (inBlockScalar && type !== "block-text"),
    inDocument: inDocument || type === "doc-mode",
  };
}

function tokenFault(type: string | null, token: string, context: TokenContext): string | null {
  if (context.previous === "tag" && type !== "space" && type !== "newline")
    return "a tag without a space after it";
  switch (type) {
    case "space":
      return token.includes("\t") ? "a tab between tokens" : null;
    case "plain-text":
      if (token.includes("\t")) return "a tab in unquoted text";
      if (context.flowLevel === 0 || !/\?|^:/.test(token)) return null;
      return "a ? or a leading : in unquoted text between brackets";
    case "anchor":
    case "alias":
      return /^[&*][\w-]+$/.test(token) ? null : "a name of other characters than A-Z a-z 0-9 _ -";
    case "comment":
      return context.previous === "block-scalar-header" ? "a comment without a space before it" : null;
    case "directive-line":
      if (context.inDocument) return "a directive after the document";
      return /^%(?:YAML +1\.\d+|(?!YAML)[\w-]+(?: .*)?)$/.test(token) ? null : "an unusable directive";
    case "doc-end":
      return context.previous === "doc-mode" ? "the end of a document that has not begun" : null;
    case "double-quoted-scalar":
      if (!/[^\\](?:\\\\)*"$/.test(token)) return "a quote that is not closed";
      return /\\\n[ \t]*\n/.test(token) ? "an empty line after an escaped line break" : null;
    case "single-quoted-scalar":
      return token.split("'").length % 2 === 1 ? null : "a quote that is not closed";
    case "byte-order-mark":
      return "a second byte order mark";
    case null:
      return "an unexpected character";
    default:
      return null;
  }
}

function composeDocument(source: string): ParsedNode | null {
  const composer = new Composer({
    schema: "failsafe",
    version: "1.1",
    resolveKnownTags: false,
    uniqueKeys: false,
    // Else a comment right after a quote or a bracket is refused, which PyYAML takes.
    strict: false,
    keepSourceTokens: true,
    logLevel: "silent",
  });
  const tokens = [...new Parser().parse(source)];
  // The composer recurses, and too deep a recursion can end the process.
  const deep = tokens.map(tooDeepToken).find((token) => token !== undefined);
  if (deep !== undefined) fail(source, deep.offset, "lists or mappings too deep in each other");
  const [document, second] = composer.compose(tokens, true, source.length);
  const error = document?.errors[0];
  if (error !== undefined) fail(source, error.pos[0], FAULTS[error.code] ?? "not well-formed");
  if (second !== undefined) fail(source, second.range[0], "a second document");
  return document?.contents ?? null;
}

function tooDeepToken(token: CST.Token): CST.Token | undefined {
  let level = [token];
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) level = level.flatMap(childTokens);
  return level[0];
}

function childTokens(token: CST.Token): CST.Token[] {
  if (token.type === "document") return token.value ? [token.value] : [];
  if (!CST.isCollection(token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value]).filter((child) => child != null);
}

const FAULTS: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: "an unknown escape sequence",
  BAD_INDENT: "wrong indentation",
  BAD_SCALAR_START: "unquoted text that begins with a reserved character",
  BLOCK_AS_IMPLICIT_KEY: "a mapping or list on the line of a key",
  KEY_OVER_1024_CHARS: "a key longer than 1024 characters",
  MISSING_CHAR: "something is missing: a quote, a bracket, a comma, a colon or a space",
  MULTILINE_IMPLICIT_KEY: "a key over several lines",
  MULTIPLE_ANCHORS: "two anchors on one value",
  MULTIPLE_TAGS: "two tags on one value",
  RESOURCE_EXHAUSTION: "too deep",
  TAB_AS_INDENT: "a tab as indentation",
  TAG_RESOLVE_FAILED: "an unknown tag",
};

/** A key with what it maps to; `id` is equal for keys that are equal. */
interface Entry {
  readonly id: string;
  readonly key: YamlScalar;
  readonly value: ParsedNode | null;
}

/** A value that is ready or being filled, and how many values it holds, itself included. */
interface Built {
  readonly value: unknown;
  weight: number;
}

/** Makes the values of one document out of its nodes. */
class Construction {
  readonly #source: string;
  readonly #anchors = new Map<string, ParsedNode>();
  readonly #targets = new Map<ParsedNode, ParsedNode>();
  readonly #entries = new Map<ParsedNode, readonly Entry[]>();
  readonly #built = new Map<ParsedNode, Built>();
  #count = 0;

  constructor(source: string, root: ParsedNode | null) {
    this.#source = source;
    this.#visit(root, -1);
  }

  /**
   * Goes over the nodes in document order, notes what each alias stands for and checks what the parser did not.
   *
   * @param indent - the column of the block collection that the node stands in; -1 where none counts
   */
  #visit(node: ParsedNode | null, indent: number): void {
    if (node === null) return;
    if (isAlias(node)) this.#bindAlias(node);
    else this.#noteAnchor(node);
    if (isScalar(node)) this.#checkLines(node, indent);
    if (!isCollection(node)) return;
    const { srcToken: token } = node;
    const inside = token === undefined || token.type === "flow-collection" ? -1 : token.indent;
    for (const item of node.items) {
      if (!isPair(item)) this.#visit(item, inside);
      else {
        this.#checkKey(item);
        this.#visit(item.key, inside);
        this.#visit(item.value, inside);
      }
    }
  }

  #bindAlias(node: Alias.Parsed): void {
    const target = this.#anchors.get(node.source);
    if (target === undefined) this.#fail(node, "an alias without its anchor before it");
    this.#targets.set(node, target);
  }

  #noteAnchor(node: ParsedNode): void {
    if (node.anchor === undefined) return;
    if (this.#anchors.has(node.anchor)) this.#fail(node, "a repeated anchor");
    this.#anchors.set(node.anchor, node);
  }

  /** Each further line of unquoted text is indented deeper than the collection it stands in. */
  #checkLines({ type, range, srcToken }: Scalar.Parsed, indent: number): void {
    const lines = type === "PLAIN" && srcToken !== undefined ? srcToken.source.split("\n").slice(1) : [];
    const isShallow = (line: string) => line.trim() !== "" && line.search(/[^ ]/) <= indent;
    if (lines.some(isShallow)) fail(this.#source, range[0], "wrong indentation");
  }

  /** A key without `?` stands, with its colon, on one line and in 1024 characters. */
  #checkKey({ key, srcToken }: YAMLMap.Parsed["items"][number]): void {
    const { start = [], sep = [] } = srcToken ?? {};
    const colon = sep.find((token) => token.type === "map-value-ind");
    const isExplicit = start.some((token) => token.type === "explicit-key-ind");
    if (colon === undefined && srcToken?.value) this.#fail(key, "something after a key");
    if (colon === undefined || isExplicit) return;
    const property = start.find((token) => token.type === "anchor" || token.type === "tag");
    if (!srcToken?.key && property === undefined) this.#fail(key, "a value without a key");
    const text = this.#source.slice(property?.offset ?? key.range[0], colon.offset);
    if (text.length > 1024) this.#fail(key, "a key longer than 1024 characters");
    if (text.includes("\n")) this.#fail(key, "a key over several lines");
  }

  /** Gives the value of a node; of a node met again the same value. */
  construct(node: ParsedNode | null): unknown {
    if (node === null) return null;
    const target = this.#target(node);
    const known = this.#built.get(target);
    if (known !== undefined) {
      this.#spend(target, known.weight);
      return known.value;
    }
    if (isSeq(target)) return this.#constructSeq(target);
    if (isMap(target)) return this.#constructMap(target);
    this.#spend(target, 1);
    return this.#readScalar(target);
  }

  #constructSeq(node: YAMLSeq.Parsed): unknown {
    const list: unknown[] = [];
    switch (explicitType(node) ?? "seq") {
      case "seq":
        return this.#fill(node, list, () => {
          for (const item of node.items) list.push(this.construct(item));
        });
      case "omap":
      case "pairs":
        return this.#fill(node, list, () => {
          for (const item of node.items) list.push(this.#constructPair(item));
        });
      default:
        return this.#fail(node, "a tag that does not fit a list");
    }
  }

  #constructPair(item: ParsedNode): unknown[] {
    const node = this.#target(item);
    const [pair, second] = isMap(node) ? node.items : [];
    if (pair === undefined || second !== undefined) this.#fail(item, "not a mapping of one pair");
    return [this.construct(pair.key), this.construct(pair.value)];
  }

  #constructMap(node: YAMLMap.Parsed): unknown {
    const type = explicitType(node) ?? "map";
    if (type !== "map" && type !== "set") this.#fail(node, "a tag that does not fit a mapping");
    const entries = this.#readEntries(node);
    if (type === "set") return this.#fill(node, new Set(entries.map(({ key }) => key)), () => undefined);
    const target = entries.every(({ key }) => typeof key === "string") ? {} : new Map<YamlScalar, unknown>();
    return this.#fill(node, target, () => {
      for (const { key, value } of entries) setEntry(target, key, this.construct(value));
    });
  }

  /** Makes a container known before it is filled, since its own members may refer to it. */
  #fill(node: ParsedNode, container: object, fill: () => void): object {
    const built = { value: container, weight: 1 };
    const before = this.#count;
    this.#built.set(node, built);
    this.#spend(node, 1);
    fill();
    built.weight = this.#count - before;
    return container;
  }

  /** Gives the entries of a mapping, those merged into it included; its own win over them, but take their place. */
  #readEntries(node: YAMLMap.Parsed): readonly Entry[] {
    const known = this.#entries.get(node);
    if (known !== undefined) return known;
    const own = new Map<string, Entry>();
    let merge: ParsedNode | null = null;
    for (const { key, value } of node.items) {
      const entry = this.#readEntry(key, value);
      if (own.has(entry.id) || (entry.id === MERGE && merge !== null)) this.#fail(key, "a repeated key");
      if (entry.id === MERGE) merge = value ?? key;
      else own.set(entry.id, entry);
    }
    // A merge that leads back here finds what stands in the mapping itself.
    this.#entries.set(node, [...own.values()]);
    const all = new Map([...(merge === null ? [] : this.#readMerged(merge)), ...own]);
    const entries = [...all.values()];
    this.#entries.set(node, entries);
    return entries;
  }

  #readEntry(key: ParsedNode, value: ParsedNode | null): Entry {
    const node = this.#target(key);
    if (!isScalar(node)) this.#fail(key, "a key that is a list or a mapping");
    const type = scalarType(node);
    if (type === "merge") return { id: MERGE, key: null, value };
    // A lone = is text where it is a key, and only there.
    const read = type === "value" ? "=" : this.#readScalar(node);
    return { id: identity(read), key: read, value };
  }

  /** Gives what `<<` brings in: of several mappings the first wins. */
  #readMerged(value: ParsedNode): Array<readonly [string, Entry]> {
    const node = this.#target(value);
    const sources = isSeq(node) ? node.items.toReversed() : [node];
    return sources.flatMap((item) => {
      const source = this.#target(item);
      if (!isMap(source)) this.#fail(item, "a merge of something that is no mapping");
      const entries = this.#readEntries(source);
      this.#spend(item, entries.length);
      return entries.map((entry) => [entry.id, entry] as const);
    });
  }

  #readScalar(node: ParsedNode): YamlScalar {
    if (!isScalar(node)) return this.#fail(node, "not well-formed");
    const reading = readScalar(scalarType(node), this.#scalarText(node));
    return reading.kind === "value" ? reading.value : this.#fail(node, reading.what);
  }

  #scalarText({ source, srcToken: token }: Scalar.Parsed): string {
    if (token?.type !== "block-scalar") return source;
    const begin = this.#source.indexOf("\n", token.offset) + 1;
    if (begin === 0) return "";
    const header = /^[|>][-+\d]*/.exec(this.#source.slice(token.offset, begin))?.[0] ?? "";
    const { text, end } = readBlockScalar(header, this.#source, begin, Math.max(token.indent, 0));
    // Both readings of the text must end at one place, or what follows was read as something else.
    const ends = [end, begin + token.source.length].toSorted((one, other) => one - other);
    if (this.#source.slice(...ends).trim() !== "") fail(this.#source, begin, "wrong indentation");
    return text;
  }

  #target(node: ParsedNode): ParsedNode {
    return this.#targets.get(node) ?? node;
  }

  #spend(node: ParsedNode, count: number): void {
    this.#count += count;
    if (this.#count > MAX_VALUES) this.#fail(node, "too many values, or aliases that stand for too many");
  }

  #fail(node: ParsedNode, what: string): never {
    fail(this.#source, node.range[0], what);
  }
}

/** The name of a type of YAML 1.1 that a tag gives, or the tag itself where it is another; `null` without a tag. */
function explicitType(node: ParsedNode): string | null {
  if (node.tag === undefined || node.tag === "!") return null;
  return node.tag.startsWith(TAG_PREFIX) ? node.tag.slice(TAG_PREFIX.length) : node.tag;
}

function scalarType(node: Scalar.Parsed): string {
  const isPlain = node.type === "PLAIN" || node.tag === "!";
  return explicitType(node) ?? (isPlain ? plainScalarType(node.source) : "str");
}

function identity(key: YamlScalar): string {
  if (typeof key === "string") return `text ${key}`;
  if (key instanceof YamlTimestamp) return `time ${key.iso}`;
  if (key instanceof Uint8Array) return `bytes ${key.join(" ")}`;
  if (key === null) return "null";
  // Python takes 1, 1.0 and true for one key.
  return `number ${typeof key === "number" && !Number.isInteger(key) ? key : BigInt(key)}`;
}

function setEntry(target: object, key: YamlScalar, value: unknown): void {
  if (target instanceof Map) target.set(key, value);
  else if (typeof key === "string") {
    // Unlike an assignment this makes `__proto__` a property like any other.
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  }
}
