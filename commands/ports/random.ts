export interface Random {
  /** From 0 to 1, evenly. */
  fraction(): number;
  /** Text that nobody can guess. */
  boundary(): string;
}
