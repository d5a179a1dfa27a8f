import { mkdirSync } from "node:fs";

/** Makes the directory if there is none; what is in it is nobody else's business. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
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
