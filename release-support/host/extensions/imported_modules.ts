import { readFileSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** How many modules behind one extension are followed: a bound, since whoever writes a root may write any number. */
const MAX_MODULES = 2000;

/** A text in quotes that may name a module; of one that could name a package or data, what stands before it decides. */
const QUOTED = /(["'`])((?:\.{0,2}\/|file:|[#@\w])[^"'`\\\n]{0,1000})\1/g;
const BEHIND_IMPORT = /(?:\bfrom|\bimport|\brequire|\bresolve)\s*\(?\s*(?:\/\*.{0,100}?\*\/\s*)?$/s;
const CODE = /\.[cm]?[jt]s$/;
const OTHER_MODULE = /\.(?:json|node|wasm)$/;
/** What CommonJS puts behind a path that it does not find as it is. */
const COMPLETIONS = ["", ".js", ".cjs", ".json", ".node", "/index.js", "/index.json"];

/**
 * Finds the modules that a module reaches by import, those that they reach, and so on, as far as they lie below a folder
 * (SPEC H12). It reads what stands in the files and runs nothing, so it may find one that is never imported, such as one
 * whose path stands in a text; one whose path is put together while the code runs it cannot find.
 *
 * @param entry - the module to begin with: absolute, links followed
 * @param folder - what lies outside of it is not followed: absolute, links followed
 * @returns absolute paths, links followed, without the entry; at most 2,000. Of packages only the file that is imported.
 *   Never throws.
 */
export function importedModules(entry: string, folder: string): string[] {
  const found = new Set([entry]);
  for (const module of found) {
    if (module.includes(`${sep}node_modules${sep}`) || !CODE.test(module)) continue;
    for (const path of importsOf(module)) {
      if (found.size <= MAX_MODULES && path.startsWith(join(folder, sep))) found.add(path);
    }
  }
  found.delete(entry);
  return [...found];
}

function importsOf(module: string): string[] {
  const text = realPathOf(module) === null ? "" : textOf(module);
  return [...text.matchAll(QUOTED)].flatMap((match) => {
    const specifier = match[2] ?? "";
    const isImport = BEHIND_IMPORT.test(text.slice(Math.max(0, match.index - 150), match.index));
    const path = resolved(specifier, module, isImport);
    return path !== null && (isImport || CODE.test(path)) ? [path] : [];
  });
}

/** Where a specifier leads, links followed; `null` where it leads to no module. */
function resolved(specifier: string, module: string, isImport: boolean): string | null {
  const isPath = /^(?:\.{0,2}\/|file:)/.test(specifier);
  if (isPath) return firstModule(pathsOf(specifier, module));
  if (!isImport) return null;
  try {
    return firstModule([createRequire(module).resolve(specifier)]);
  } catch {
    return null;
  }
}

/** The paths that a specifier may mean: as part of a URL, as ES modules take it, and as text, as CommonJS does. */
function pathsOf(specifier: string, module: string): string[] {
  const asText = specifier.startsWith("file:")
    ? []
    : [join(specifier.startsWith("/") ? "/" : dirname(module), specifier)];
  try {
    return [fileURLToPath(new URL(specifier, pathToFileURL(module))), ...asText];
  } catch {
    return asText;
  }
}

function firstModule(paths: readonly string[]): string | null {
  for (const path of paths) {
    for (const completion of COMPLETIONS) {
      const real = realPathOf(path + completion);
      if (real !== null && (CODE.test(real) || OTHER_MODULE.test(real))) return real;
    }
  }
  return null;
}

/** Only of a regular file: to open a pipe would wait for a writer. */
function realPathOf(path: string): string | null {
  try {
    return statSync(path).isFile() ? realpathSync(path) : null;
  } catch {
    return null;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
