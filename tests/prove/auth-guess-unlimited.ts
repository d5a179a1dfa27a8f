import { createClient } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import type { Clock } from "../../commands/ports/index.js";
import { defaultLimits } from "../../infra/server/limits.js";
import type { Handler } from "../../infra/server/connections.js";
import { listenSocket, listenTls } from "../../infra/server/listeners.js";
import { loadCertificate } from "../../infra/server/certificate.js";
import { socketFile } from "../../infra/server/socket-file.js";
import { systemClock } from "../../infra/ports/system-clock.js";
import { equipmentOf } from "../../infra/server/equipment.js";
import { startServices } from "../../infra/rpc/services.js";
import { projections } from "../../projections/index.js";
import { openBackend, quiet } from "../support/backend.js";
import { networkTransport, socketTransport, testConfig, type TestServer } from "../support/server.js";

/** A server whose read models know nothing of failed attempts: so its limiter never has anything to count. */
export async function startUnlimited(
  dataDirectory: string,
  _overrides: object,
  { clock }: { clock: Clock },
): Promise<TestServer> {
  const forgetful = projections.map((projection) =>
    projection.name === "pairing_attempts" ? { ...projection, on: {} } : projection,
  );
  const backend = await openBackend(dataDirectory, forgetful);
  const foundation = { ...backend, query: backend.store.query, clock };
  const services = startServices(foundation, equipmentOf(foundation, testConfig(dataDirectory), []), {
    activeDevicesMax: 1,
    allowsRawReasoning: false,
    whereabouts: { serverUrl: "", certificateFingerprint: "" },
    observer: { called: () => undefined, resumed: () => undefined, gap: () => undefined },
    logger: quiet,
  });
  const serving = (isOperator: boolean) => {
    const handler: Handler = (request, response, hangUp) =>
      void services.handle(request, response, { isOperator, hangUp });
    return { handler, limits: defaultLimits, logger: quiet };
  };
  const source = { files: null, dataDirectory, host: "127.0.0.1" };
  const certificate = await loadCertificate(source, systemClock, quiet);
  const network = await listenTls({ host: "127.0.0.1", port: 0 }, certificate, serving(false));
  const socket = await listenSocket(socketFile(dataDirectory), serving(true));
  const operator = socketTransport(socketFile(dataDirectory));
  return {
    running: { url: network.url } as TestServer["running"],
    dataDirectory,
    client: <Service extends DescService>(service: Service, token?: string) =>
      createClient(service, networkTransport(network.url, token)),
    operator: (service) => createClient(service, operator),
    pair: () => Promise.reject(new Error("nobody pairs here")),
    stop: async () => {
      services.stop();
      await Promise.all([network.close(0), socket.close(0)]);
      backend.close();
    },
  };
}
