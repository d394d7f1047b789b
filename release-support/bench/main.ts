import { benchGateCost } from "./gate_cost.ts";

/** `npm run bench`: medians, each as a ratio to the first line of its table. */
await benchGateCost();
