// What the gate needs of a host, as types only. A host that offers this can run the plugin; nothing else of the host is
// touched. Names are the framework's own where it has them.

/** The host's services, reached through the agent that an extension is constructed with. */
export interface GateHost {
  /** The folder that holds `usr/` and `plugins/`: absolute path. */
  readonly root: string;
  /**
   * Vouches for a tool object: its qualified name `server.tool` when this very object is an MCP tool that this host
   * made itself, else `null`. Answered from the host's registry: neither the object's class nor its own properties
   * prove anything (SPEC P1.3).
   */
  vouchedMcpToolName(tool: object): string | null;
  /**
   * The MCP configuration that executing a tool for this agent would use, read afresh. Reads the host's cached state
   * about servers; opens no connection (SPEC P5).
   */
  mcpConfiguration(agent: GateAgent): McpConfigurationView;
  /**
   * The plugin's configuration in a host that keeps it in places of its own, read afresh for every call. A host without
   * this keeps it in the framework's places below the root (SPEC P2, A2).
   */
  configuration?(agent: GateAgent): Promise<KeptConfiguration>;
  /** Fires when the agent's task is cancelled; its reason is what the cancelled call rejects with (SPEC P11.1). */
  cancellation(agent: GateAgent): AbortSignal;
  /**
   * Where this host's operator finds what was decided, as a denial says it: fixed words of the host's own, at most 200
   * bytes. A host without this keeps it in the framework's places (SPEC P10.3).
   */
  readonly whereToLook?: string;
  /** The host's exception that an agent sees as a warning and can go on from (SPEC P1.5). */
  readonly RepairableException: new (message: string) => Error;
}

/** A configuration in the form of `config.json` as its host keeps it. Whether its settings are valid, the plugin says. */
export type KeptConfiguration =
  /** There is none: nothing is protected. */
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly where: string; readonly value: unknown }
  /** It cannot be read. `where` says which it is and `problem` why, both in fixed words: a denial shows them. */
  | { readonly kind: "unusable"; readonly where: string; readonly problem: string };

/** The agent whose tool call is about to run. */
export interface GateAgent {
  readonly host: GateHost;
  readonly config: { readonly profile: string };
  readonly context: {
    /** The context data of the framework; the key `project` holds the project's name. */
    getData(key: string): unknown;
    readonly log: { log(item: GateLogItem): unknown };
  };
  /** The state of the running loop; `currentTool` is the object that the host is about to execute. */
  readonly loopData: { readonly currentTool: object | null };
  getData(key: string): unknown;
  setData(key: string, value: unknown): void;
}

/** One entry of the chat log. */
export interface GateLogItem {
  readonly type: "info" | "warning" | "error";
  readonly heading: string;
  readonly content: string;
  readonly kvps?: Readonly<Record<string, string | number | boolean | null>>;
}

/** The MCP servers that a tool call of one agent can reach. */
export interface McpConfigurationView {
  /** Every server not marked disabled, in lookup order, whether or not it could be initialised. */
  readonly servers: readonly McpServerView[];
  /** Names that two enabled entries of one scope carry, also where merging kept only the last of them (SPEC P5.1). */
  readonly collidingNames: ReadonlySet<string>;
}

/** One configured MCP server. */
export type McpServerView = RemoteMcpServerView | LocalMcpServerView;

/** A server that is reached over the network. */
export interface RemoteMcpServerView {
  readonly kind: "remote";
  /** The normalised name. */
  readonly name: string;
  /** The very URL that the transport dials, and that a kept connection was opened to (SPEC P5.7). */
  readonly url: string;
  /** Whether the server currently exposes this tool and it is not disabled there. */
  exposes(tool: string): boolean;
}

/** A server that runs as a process on this machine. */
export interface LocalMcpServerView {
  readonly kind: "local";
  readonly name: string;
}
