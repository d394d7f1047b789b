// Where a decision log lies, and how it is opened: below the host root, readable by its owner alone, and never a file that
// is anything else. What is written to it is somebody else's matter.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";

/** Which file: the host root, absolute, and the path below it as the setting `decision_log` has it. */
export interface LogPlace {
  readonly root: string;
  readonly file: string;
}

/** How large a decision log may become, in bytes. */
export interface LogBounds {
  /** A file that would become larger is set aside, and another one begun. */
  readonly file: number;
  /** Of all files together: of those set aside, the oldest go. */
  readonly total: number;
}

/** A decision log, open for appending. */
export interface OpenLog {
  readonly fd: number;
  /** In bytes. */
  readonly size: number;
  /** Whether its last line broke off, so that the next one must not be glued to it. */
  readonly isTorn: boolean;
}

/** A decision log that may not be opened where it lies. The message is in our own words. */
export class LogFileError extends Error {}

/** What every line of a decision log begins with. */
const LINE_HEAD = '{"v":';

/** What is behind the name of a file that was set aside: when, to the millisecond, and something that is unique. */
const SET_ASIDE = /^\.\d{8}T\d{9}Z-[0-9a-f]{6}$/;

/**
 * Opens a decision log for appending, and makes it with its folders where it does not exist. A file that has no room left
 * is set aside first, under a name of its own: whoever else has it open goes on writing into it, and loses nothing.
 *
 * @param place - which file
 * @param room - how many bytes are to be appended
 * @param bounds - how large it may become
 * @throws LogFileError when it leads out of the root or is no decision log; a system error when it cannot be opened
 */
export function openLog(place: LogPlace, room: number, bounds: LogBounds): OpenLog {
  const path = locate(place);
  const log = openForAppending(path);
  if (log.size === 0 || log.size + room <= bounds.file) return log;
  try {
    setAside(path, log.fd);
    removeOldest(path, bounds.total - bounds.file);
  } finally {
    closeSync(log.fd);
  }
  return openForAppending(path);
}

/**
 * Lists the files of a decision log that exist, the oldest first.
 *
 * @param place - which file
 * @returns absolute paths
 * @throws LogFileError when it leads out of the root
 */
export function logFiles({ root, file }: LogPlace): string[] {
  const realRoot = realpathSync(root);
  let path: string;
  try {
    const folder = inside(realRoot, realpathSync(join(realRoot, dirname(file))));
    path = realPathOf(realRoot, join(folder, basename(file)));
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
  return [...filesSetAside(path), path].filter((one) => statSync(one, { throwIfNoEntry: false })?.isFile());
}

/** The file's real path. Folders that are missing are made, one by one, so that no link leads any of them outside. */
function locate({ root, file }: LogPlace): string {
  const realRoot = realpathSync(root);
  let folder = realRoot;
  for (const name of dirname(file).split("/")) {
    const next = join(folder, name);
    // With "recursive" it may have been made in this moment.
    if (lstatSync(next, { throwIfNoEntry: false }) === undefined) {
      mkdirSync(next, { mode: 0o700, recursive: true });
    }
    folder = inside(realRoot, realpathSync(next));
  }
  return realPathOf(realRoot, join(folder, basename(file)));
}

function realPathOf(realRoot: string, path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink ? inside(realRoot, realpathSync(path)) : path;
}

function inside(realRoot: string, path: string): string {
  const way = relative(realRoot, path);
  if (way === ".." || way.startsWith("../") || isAbsolute(way)) {
    throw new LogFileError("it leads out of the host root");
  }
  return path;
}

function openForAppending(path: string): OpenLog {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new LogFileError("it is not a regular file");
    const head = textAt(fd, 0, LINE_HEAD.length);
    if (!LINE_HEAD.startsWith(head)) throw new LogFileError("there is a file that is no decision log");
    const { size } = stats;
    return { fd, size, isTorn: size > 0 && textAt(fd, size - 1, 1) !== "\n" };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function textAt(fd: number, position: number, length: number): string {
  const bytes = Buffer.alloc(length);
  return bytes.toString("latin1", 0, readSync(fd, bytes, 0, length, position));
}

/** Another process may have done it in the meantime: then the path leads to a new file already, or to none yet. */
function setAside(path: string, fd: number): void {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats?.ino !== fstatSync(fd, { bigint: true }).ino) return;
  const time = new Date().toISOString().replaceAll(/[-:.]/g, "");
  unlessGone(() => renameSync(path, `${path}.${time}-${randomUUID().slice(-6)}`));
}

function removeOldest(path: string, bound: number): void {
  let total = 0;
  for (const file of filesSetAside(path).toReversed()) {
    total += statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (total > bound) unlessGone(() => unlinkSync(file));
  }
}

/** Does something with a file, unless another process was faster. */
function unlessGone(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!isAbsence(error)) throw error;
  }
}

/** The files that were set aside, the oldest first. */
function filesSetAside(path: string): string[] {
  const [folder, name] = [dirname(path), basename(path)];
  return readdirSync(folder)
    .filter((entry) => entry.startsWith(name) && SET_ASIDE.test(entry.slice(name.length)))
    .toSorted()
    .map((entry) => join(folder, entry));
}

function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}
