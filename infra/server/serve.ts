import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { firstValueFrom } from "rxjs";
import { projections } from "../../projections/index.js";
import type { Config, HttpAddress } from "../config/config.js";
import { openLog, systemEntropy } from "../event-log/index.js";
import { systemIds } from "../ports/system-ids.js";
import { isDamage, Projector, ReadModelStore } from "../projector/index.js";
import { createHealthServer, type Readiness } from "./health.js";

/** A running backend. */
export interface Running {
  /** Where it listens; the port is the one it got, if it asked for any. */
  readonly url: string;
  /** Resolves after `stop`; rejects with the reason when it cannot go on. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Opens the log, says that it is alive, and brings the read models up to date: then it is ready. */
export async function serve({ dataDirectory, httpAddress }: Config, logger: Logger): Promise<Running> {
  const log = openLog(dataDirectory, systemEntropy(systemIds));
  const store = ReadModelStore.open(dataDirectory, logger);
  const projector = new Projector(log, store, projections, logger);
  const readiness: Readiness = { isReady: false, position: 0, head: log.head().position };
  const server = createHealthServer(readiness);
  const stopping = new AbortController();

  const closeFiles = (error?: unknown) => {
    projector.close();
    if (isDamage(error)) store.closeAndDiscard();
    else store.close();
    log.close();
  };

  const url = await listen(server, httpAddress).catch((error: unknown) => {
    closeFiles();
    throw error;
  });
  logger.info({ url, dataDirectory, events: readiness.head }, "listening");

  const run = async () => {
    await projector.start({
      signal: stopping.signal,
      onProgress: (position, head) => Object.assign(readiness, { position, head }),
    });
    readiness.isReady = true;
    logger.info({ events: log.head().position }, "ready");
    await Promise.race([aborted(stopping.signal), firstValueFrom(projector.stopped)]);
  };
  const ended = run()
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    })
    .then(
      () => {
        closeFiles();
      },
      (error: unknown) => {
        closeFiles(error);
        throw error;
      },
    )
    .finally(() => closeServer(server));

  return {
    url,
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

async function listen(server: Server, { host, port }: HttpAddress): Promise<string> {
  server.listen(port, host);
  await once(server, "listening");
  const bound = server.address() as AddressInfo;
  return `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
