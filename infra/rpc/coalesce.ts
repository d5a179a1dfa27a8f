const chunkBytesMax = 32 * 1024;

/**
 * Joins what is ready at the same time into one write: a replay is then not one packet per event, for either side. What
 * has to be waited for is not: the first piece goes out as soon as everything that can run now has run.
 */
export async function* coalesced(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const iterator = pieces[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done === true) return;
      const ready = [first.value];
      let readyBytes = first.value.length;
      next = iterator.next();
      const idle = untilIdle();
      while (readyBytes < chunkBytesMax) {
        const piece = await Promise.race([next, idle]);
        if (piece === null || piece.done === true) break;
        ready.push(piece.value);
        readyBytes += piece.value.length;
        next = iterator.next();
      }
      yield ready.length === 1 ? first.value : Buffer.concat(ready, readyBytes);
    }
  } finally {
    next.catch(() => undefined); // Nobody will ask for it any more.
    await iterator.return?.();
  }
}

function untilIdle(): Promise<null> {
  return new Promise((resolve) => {
    setImmediate(resolve, null);
  });
}
