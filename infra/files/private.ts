import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** Permission bits of everybody but the owner, and of the owner. */
const others = 0o077;
const ownersOnly = 0o700;

/** Makes the directory if there is none; what is in it is nobody else's business. Once made, a power cut leaves it. */
export function makePrivateDirectory(directory: string): void {
  const path = resolve(directory);
  if (existsSync(path)) return;
  makePrivateDirectory(dirname(path)); // Level by level: where nothing can be made, Node's own way never comes back.
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // Another process was faster.
  }
  syncDirectory(dirname(path));
}

/** Files made meanwhile, also those that a library makes beside the one it was asked for, are the owner's alone. */
export function withPrivateUmask<T>(make: () => T): T {
  const umask = process.umask(0o077);
  try {
    return make();
  } finally {
    process.umask(umask);
  }
}

/** A file that was there already, restored from a backup for example, becomes as private as one that we made. */
export function makePrivate(file: string): void {
  if (!existsSync(file)) return;
  const { mode, uid } = statSync(file);
  const isOurs = uid === process.geteuid?.(); // If not, opening it for writing will tell.
  if (isOurs && (mode & others) !== 0) chmodSync(file, mode & ownersOnly);
}

/** Makes that names made or changed in a directory survive a power cut. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
