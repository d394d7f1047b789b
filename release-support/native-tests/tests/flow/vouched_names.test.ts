import { expect } from "chai";

import { gate } from "../../../../helpers/gate.ts";
import type { GateAgent, GateHost } from "../../../../helpers/host.ts";
import { HostRoot } from "../../../fixtures/host_root.ts";
import { RepairableException } from "../../../host/agents/exceptions.ts";

/** An agent of a host that vouches for its current tool under a name that this project's host never forms. */
function agentWith(root: HostRoot, name: string): GateAgent {
  const data = new Map<string, unknown>();
  const host: GateHost = {
    root: root.path,
    vouchedMcpToolName: () => name,
    mcpConfiguration: () => ({ servers: [], collidingNames: new Set() }),
    cancellation: () => new AbortController().signal,
    RepairableException,
  };
  return {
    host,
    config: { profile: "" },
    context: { getData: () => undefined, log: { log: () => undefined } },
    loopData: { currentTool: {} },
    getData: (key) => data.get(key),
    setData: (key, value) => void data.set(key, value),
  };
}

async function outcome(agent: GateAgent): Promise<string> {
  try {
    await gate(agent);
    return "passed";
  } catch (error) {
    return error instanceof RepairableException ? "denied" : "failed";
  }
}

describe("a vouched tool whose name has no server part", () => {
  let root: HostRoot;

  beforeEach(() => {
    root = new HostRoot();
    root.installPlugin();
  });

  afterEach(() => root.remove());

  for (const name of ["nodot", ".tool", "server."]) {
    it(`is no protected server's: ${name} passes [P1.3]`, async () => {
      root.writeConfig({ protected_servers: { server: "https://pub.example.com/mcp" } });
      expect(await outcome(agentWith(root, name))).to.equal("passed");
    });

    it(`is denied under an unusable configuration all the same: ${name} [P3.2]`, async () => {
      root.writeConfig({ protectd_servers: {} });
      expect(await outcome(agentWith(root, name))).to.equal("denied");
    });
  }
});
