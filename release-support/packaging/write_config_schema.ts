import { writeConfigSchema } from "./config_schema.ts";

writeConfigSchema();
