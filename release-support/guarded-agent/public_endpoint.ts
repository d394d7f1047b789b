// Shared with the plugin: the screen of the URL's text. Stricter here: https only, a plain path, no private host ever.
import { screenEndpoint } from "../../helpers/binding/endpoint_screen.ts";
import { readRecord } from "./arguments.ts";

/** The caller's word that the endpoint's URL may be told to the Agent Guild, which will probe it. There is no default. */
export interface DisclosureConsent {
  readonly discloseEndpointToAgentGuild: true;
}

/** The caller's consent, and what else may be said about an endpoint. */
export interface EndpointOptions extends DisclosureConsent {
  /** The only tools of this server that the model is offered, by name; all of them if left out. */
  readonly tools?: readonly string[] | undefined;
  /** `true`: an agent is created without this endpoint when it cannot be opened. Default: it is not created then. */
  readonly optional?: boolean | undefined;
}

/** An endpoint, checked and copied. */
export interface EndpointSettings {
  readonly url: string;
  /** `null`: all that the server has. */
  readonly tools: ReadonlySet<string> | null;
  readonly isOptional: boolean;
}

/** Segments of RFC 3986 without percent escapes, none of them empty but the last: one spelling, one meaning. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*\/?$/;

/**
 * A public MCP server that the operator has chosen and agreed to disclose (SPEC G1). Never a URL that a model
 * produced, and never one with a secret in its path: no syntax can recognise that.
 */
export class PublicMcpEndpoint {
  readonly #settings: EndpointSettings;

  // The checks are in here, not in `of`: outside of TypeScript nothing keeps a caller from using `new`.
  private constructor(url: string, options: EndpointOptions) {
    const given = readRecord("consent", options, ["discloseEndpointToAgentGuild", "tools", "optional"]);
    const { discloseEndpointToAgentGuild, tools, optional = false } = given;
    if (discloseEndpointToAgentGuild !== true) {
      throw new TypeError(
        "discloseEndpointToAgentGuild: expected true, since every guarded call tells the Agent Guild this URL",
      );
    }
    const problem = problemOf(url);
    if (problem !== null) {
      throw new TypeError(
        `url: refused (${problem}); expected a public https URL with a plain path, without credentials, query or fragment`,
      );
    }
    if (typeof optional !== "boolean") throw new TypeError("optional: expected true or false");
    this.#settings = Object.freeze({ url, tools: readToolNames(tools), isOptional: optional });
    Object.freeze(this);
  }

  /**
   * Names an endpoint.
   *
   * @param url - a public `https` URL as the URL standard serialises it (letter case of the host, `:443` and an empty
   * path aside), with a path of plain segments
   * @param options - `{ discloseEndpointToAgentGuild: true }`, and by choice the tools that the model is offered
   * @throws TypeError without consent, or for any other URL; the message never repeats the URL
   */
  static of(url: string, options: EndpointOptions): PublicMcpEndpoint {
    return new PublicMcpEndpoint(url, options);
  }

  /** What an endpoint made by `of` says; `null` for any other value. */
  static settingsOf(value: unknown): EndpointSettings | null {
    return typeof value === "object" && value !== null && #settings in value ? value.#settings : null;
  }

  /** The URL exactly as given. */
  get url(): string {
    return this.#settings.url;
  }
}

function readToolNames(value: unknown): ReadonlySet<string> | null {
  if (value === undefined) return null;
  const names: readonly unknown[] = Array.isArray(value) ? value : [];
  const texts = names.filter((name) => typeof name === "string");
  if (texts.length === 0 || texts.length < names.length) {
    throw new TypeError("tools: expected a list of one tool name or more");
  }
  return new Set(texts);
}

function problemOf(url: unknown): string | null {
  const screening = screenEndpoint(url);
  if (screening.kind === "ineligible") return screening.problem;
  if (screening.scheme !== "https") return "scheme";
  const path = /^https:\/\/[^/]*(.*)$/.exec(screening.url)?.[1];
  return path !== undefined && PLAIN_PATH.test(path) ? null : "path_not_plain";
}
