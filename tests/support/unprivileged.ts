/** Does something as a user who may not write everywhere: to the superuser, no file is read-only. */
export function unprivileged<T>(work: () => T): T {
  if (process.geteuid?.() !== 0 || process.seteuid === undefined) return work();
  const nobody = 65_534;
  process.seteuid(nobody);
  try {
    return work();
  } finally {
    process.seteuid(0);
  }
}
