import type { ConnectRouter } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import { ApprovalsService } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { JobsService } from "../../proto/gen/pincer/protocol/v1/jobs_pb.js";
import { SchedulesService } from "../../proto/gen/pincer/protocol/v1/schedules_pb.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { Equipment } from "../server/equipment.js";
import { DeviceUse } from "../auth/device-use.js";
import { Pairing } from "../auth/pairing.js";
import { Sessions } from "../auth/sessions.js";
import { Growth, type SqliteEventLog } from "../event-log/index.js";
import { approvalsService } from "./approvals.js";
import { createRpcHandler, type RpcHandler } from "./api.js";
import { authService, type Whereabouts } from "./auth.js";
import { byDevice } from "./caller.js";
import { devicesService } from "./devices.js";
import { EventStreams, type StreamObserver } from "./event-streams.js";
import { eventsService } from "./events.js";
import { authenticating, reporting, type CallObserver } from "./interceptors.js";
import { OpenStreams } from "./open-streams.js";
import { systemService } from "./system.js";
import { threadsService } from "./threads.js";
import { turnsService } from "./turns.js";

/** What the services stand on. */
export interface Foundation extends Handling {
  readonly log: SqliteEventLog;
  readonly query: Kysely<ReadModelTables>;
  readonly ids: Ids;
  readonly clock: Clock;
}

export interface ServiceOptions {
  readonly activeDevicesMax: number;
  /** Whether clients may ask to see all that a model thinks. */
  readonly allowsRawReasoning: boolean;
  /** What a new device is told about where it finds us. */
  readonly whereabouts: Whereabouts;
  readonly observer: CallObserver & StreamObserver;
  readonly logger: Logger;
}

/** All services of the protocol, running. */
export interface Services {
  readonly handle: RpcHandler;
  readonly pairing: Pairing;
  readonly streams: OpenStreams;
  readonly growth: Growth;
  /** Ends every stream in a way that tells clients to come back. Calls still run to their end. */
  stop(): void;
}

export function startServices(foundation: Foundation, equipment: Equipment, options: ServiceOptions): Services {
  const { log, readModels, query, ids, clock } = foundation;
  const { activeDevicesMax, allowsRawReasoning, whereabouts, observer, logger } = options;
  const sessions = new Sessions(log, readModels, query, clock);
  const pairing = new Pairing(foundation, log, query, ids, clock, activeDevicesMax);
  const use = new DeviceUse(foundation, clock, byDevice, logger);
  const growth = new Growth(log);
  const streams = new OpenStreams(log, readModels, query, clock, sessions);
  const events = new EventStreams(log, growth, streams, observer);

  const addServices = (router: ConnectRouter) => {
    router.service(AuthService, authService(foundation, pairing, ids, clock, whereabouts));
    router.service(DevicesService, devicesService(foundation, query, clock));
    router.service(ThreadsService, threadsService(foundation, log, query, ids, clock));
    router.service(EventsService, eventsService(log, events));
    router.service(SystemService, systemService(foundation, equipment, log, query, clock));
    router.service(ApprovalsService, approvalsService({ ...foundation, ...equipment }, query, clock));
    router.service(TurnsService, turnsService(foundation, events, query, clock, allowsRawReasoning));
    // Their rooms are not built yet, and they say so.
    for (const service of [JobsService, SchedulesService]) {
      router.service(service, {});
    }
  };
  const interceptors = [
    reporting(observer, logger),
    authenticating(sessions, (session) => {
      use.note(session);
    }),
  ];
  return {
    handle: createRpcHandler(interceptors, addServices, logger),
    pairing,
    streams,
    growth,
    stop: () => {
      streams.stop();
      sessions.close();
      growth.close();
    },
  };
}
