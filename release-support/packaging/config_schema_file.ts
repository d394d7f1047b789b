/** Where the JSON schema of `config.json` lies, in the repository, the package and the plugin's folder alike. */
export const CONFIG_SCHEMA_FILE = "helpers/settings/config.schema.json";
