/** What the model is to answer: so many steps, all but the last with a call, so many chunks of text in each. */
export interface Plan {
  readonly steps: number;
  readonly chunks: number;
  /** After each chunk, which then says when it left; 0 for chunks that come as fast as they can. */
  readonly gapMillis: number;
}

/** Where the model is. */
export interface ModelPlace {
  readonly baseUrl: string;
}

/** Where the server is, and who may speak to it. */
export interface TurnsPlace {
  readonly url: string;
  readonly token: string;
}

/** The owner's words that the model of the benchmark understands. */
export function askFor({ steps, chunks, gapMillis }: Plan): string {
  return `Please take ${steps} steps of ${chunks} chunks, ${gapMillis} ms apart.`;
}

export function plansIn(words: string): Plan[] {
  return [...words.matchAll(/take (\d+) steps of (\d+) chunks, (\d+) ms/g)].map(([, steps, chunks, gapMillis]) => {
    return { steps: Number(steps), chunks: Number(chunks), gapMillis: Number(gapMillis) };
  });
}
