import type { HostDriver } from "../host_driver.ts";
import { mcpSdk } from "./mcp_sdk.ts";
import { pi } from "./pi.ts";

/** Every host that the gate is tried in. */
export const HOSTS: readonly HostDriver[] = [mcpSdk, pi];
