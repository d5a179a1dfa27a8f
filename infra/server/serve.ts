import { once } from "node:events";
import type { Logger } from "pino";
import { firstValueFrom } from "rxjs";
import { recordPolicy } from "../../commands/audit/record-policy.js";
import type { Clock, Timers } from "../../commands/ports/index.js";
import { Folds } from "../../commands/folds.js";
import type { Tool } from "../../domain/approvals/index.js";
import { projections } from "../../projections/index.js";
import { hasActiveDevices } from "../../read-models/devices/index.js";
import type { Config } from "../config/config.js";
import { lockForServing, openLog, systemEntropy, type SqliteEventLog } from "../event-log/index.js";
import { defaultModelTimeouts, type ModelTimeouts } from "../model/timeouts.js";
import { systemClock } from "../ports/system-clock.js";
import { systemIds } from "../ports/system-ids.js";
import { systemTimers } from "../ports/system-timers.js";
import { isDamage, Projector, ReadModelStore } from "../projector/index.js";
import { byOperator } from "../rpc/caller.js";
import { byWorker } from "../workers/provenance.js";
import { turnWorker } from "../workers/turn-worker.js";
import { Executor } from "../workers/executor.js";
import { executorPorts } from "../workers/executor-ports.js";
import type { TurnWorker } from "../workers/turns.js";
import { startServices, type Services } from "../rpc/services.js";
import { equipmentOf } from "./equipment.js";
import { loadCertificate, type Certificate } from "./certificate.js";
import { defaultLimits } from "./limits.js";
import type { Handler, Listener } from "./connections.js";
import { listenPlain, listenSocket, listenTls } from "./listeners.js";
import { Metrics } from "./metrics.js";
import { answerOperations, type Readiness } from "./operations.js";
import { socketFile } from "./socket-file.js";

/** How long calls in flight may take to finish once the server is told to stop. */
const stopMillisMax = 5_000;

/** A running backend. */
export interface Running {
  /** Where it listens; the port is the one it got, if it asked for any. */
  readonly url: string;
  /** For whoever works beside it in the same process: what is appended here is heard of at once. */
  readonly log: SqliteEventLog;
  /** Of the certificate; empty without TLS. */
  readonly fingerprint: string;
  /** Resolves when every call is answered; rejects if it never comes to that. */
  readonly ready: Promise<void>;
  /** A pairing code, if there is no device yet that could ask for one. */
  firstPairingCode(): Promise<string | null>;
  /** Resolves after `stop`; rejects with the reason when it cannot go on. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** What is around a backend, where it is not the usual. */
export interface Surroundings {
  readonly clock?: Clock;
  /** By which actions are carried out. */
  readonly timers?: Timers;
  /** Beside those that are built in. */
  readonly tools?: readonly Tool[];
  readonly modelTimeouts?: ModelTimeouts;
}

/** Opens the log, says that it is alive, and brings the read models up to date: then it is ready. */
export async function serve(config: Config, logger: Logger, surroundings: Surroundings = {}): Promise<Running> {
  const { dataDirectory, publicUrl, activeDevicesMax, allowsRawReasoning } = config;
  const { clock = systemClock, timers = systemTimers, tools = [], modelTimeouts = defaultModelTimeouts } = surroundings;
  const release = lockForServing(dataDirectory);
  const log = orElse(release, () => openLog(dataDirectory, systemEntropy(systemIds)));
  const letGo = () => {
    log.close();
    release();
  };
  const store = orElse(letGo, () => ReadModelStore.open(dataDirectory, logger));
  const projector = new Projector(log, store, projections, logger);
  const metrics = new Metrics();
  const readiness: Readiness = { isReady: false, position: 0, head: log.head().position };
  const stopping = new AbortController();
  let services: Services | null = null;
  let turns: TurnWorker | null = null;
  let executor: Executor | null = null;

  const handle =
    (isOperator: boolean): Handler =>
    (request, response, hangUp) => {
      if (services?.handle(request, response, { isOperator, hangUp }) === true) return;
      const isRpc = request.method === "POST" && services === null;
      if (isRpc)
        response.writeHead(503).end(); // Connect's clients read that as "unavailable", and come again.
      else answerOperations(request, response, readiness, metrics).catch(() => response.end());
    };
  const closeFiles = (error?: unknown) => {
    projector.close();
    if (isDamage(error)) store.closeAndDiscard();
    else store.close();
    letGo();
  };

  const { network, socket, fingerprint } = await listen(config, handle, clock, logger).catch((error: unknown) => {
    closeFiles();
    throw error;
  });
  const { url } = network;
  logger.info({ url, fingerprint, dataDirectory, events: readiness.head }, "listening");

  const start = async () => {
    await projector.start({
      signal: stopping.signal,
      onProgress: (position, head) => Object.assign(readiness, { position, head }),
    });
    const folds = new Folds();
    const foundation = { log, readModels: projector, query: store.query, ids: systemIds, clock, folds };
    const equipment = equipmentOf(foundation, config, tools);
    const whereabouts = { serverUrl: publicUrl ?? url, certificateFingerprint: fingerprint };
    const started = startServices(foundation, equipment, {
      activeDevicesMax,
      allowsRawReasoning,
      whereabouts,
      observer: metrics,
      logger,
    });
    started.growth.erased.subscribe(() => {
      folds.forget(); // What it remembers may be what was erased.
    });
    // Nothing is done under rules that are not recorded.
    const { policyVersion: version } = equipment;
    const recorded = await recordPolicy(foundation, { version, at: clock.now(), provenance: byWorker("server") });
    if (recorded.outcome === "refused") throw new Error(`the policy could not be recorded: ${recorded.code}`);
    turns = turnWorker(foundation, equipment, { ...config, modelTimeouts }, metrics, logger);
    await turns.start();
    executor = new Executor(executorPorts({ ...foundation, timers }, equipment, logger), log, store.query, logger);
    executor.start();
    log.committed.subscribe((commit) => {
      metrics.committed(commit);
    });
    metrics.watch({
      openStreams: () => started.streams.size,
      replayLag: () => started.streams.behindMax,
      runningTurns: () => turns?.size ?? 0,
      projectionLag: () => log.head().position - projector.position,
      logFile: log.file,
    });
    services = started;
    readiness.isReady = true;
    logger.info({ events: log.head().position }, "ready");
    return started;
  };
  const starting = start();

  const run = async () => {
    await starting;
    await Promise.race([aborted(stopping.signal), firstValueFrom(projector.stopped)]);
  };
  const closeDoors = async () => {
    services?.stop();
    await Promise.all([turns?.stop(), executor?.stop(), network.close(stopMillisMax), socket.close(stopMillisMax)]);
  };
  const ended = run()
    .catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error;
    })
    .finally(closeDoors)
    .then(
      () => {
        closeFiles();
      },
      (error: unknown) => {
        closeFiles(error);
        throw error;
      },
    );

  return {
    url,
    log,
    fingerprint,
    ready: starting.then(() => undefined),
    firstPairingCode: async () => {
      const { pairing } = await starting;
      if (await hasActiveDevices(store.query)) return null;
      return (await pairing.createCode(null, byOperator)).code;
    },
    ended,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** On the network, and on a socket for whoever is on this machine and may read the data. */
async function listen(
  { dataDirectory, httpAddress, tlsFiles, isPlain }: Config,
  handle: (isOperator: boolean) => Handler,
  clock: Clock,
  logger: Logger,
): Promise<{ network: Listener; socket: Listener; fingerprint: string }> {
  const limits = defaultLimits;
  const outside = { handler: handle(false), limits, logger };
  const socket = await listenSocket(socketFile(dataDirectory), { handler: handle(true), limits, logger });
  try {
    if (isPlain) return { network: await listenPlain(httpAddress, outside), socket, fingerprint: "" };
    const source = { dataDirectory, files: tlsFiles, host: httpAddress.host };
    const certificate: Certificate = await loadCertificate(source, clock, logger);
    const network = await listenTls(httpAddress, certificate, outside);
    return { network, socket, fingerprint: certificate.fingerprint };
  } catch (error) {
    await socket.close(0);
    throw error;
  }
}

/** Opens something, or takes back what was done before. */
function orElse<T>(takeBack: () => void, open: () => T): T {
  try {
    return open();
  } catch (error) {
    takeBack();
    throw error;
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
