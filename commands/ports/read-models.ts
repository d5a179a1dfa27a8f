export interface ReadModels {
  /** Resolves once every projection has seen the event at `position`; rejects if one of them has stopped. */
  reached(position: number): Promise<void>;
}
