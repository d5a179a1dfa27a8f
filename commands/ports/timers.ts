export interface Timers {
  /** Runs `act` once after so long, unless it is taken back. */
  after(millis: number, act: () => void): () => void;
}
