import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { day } from "../../../domain/shared/index.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { bearer } from "./bad-tokens.js";
import { movableClock } from "./movable-clock.js";
import { frame } from "../../support/frame.js";
import { errorIn, packagePath, RawConnection, readAnswer } from "./raw.js";

const bench = workbench();
const clock = movableClock();
let server: TestServer;
let connection: RawConnection;
let device: { token: string; deviceId: string };

beforeEach(async () => {
  server = await startServer(bench.path, {}, { clock });
  connection = new RawConnection(server.running.url);
  device = await server.pair();
});
afterEach(async () => {
  connection.close();
  await server.stop();
});

/** A call whose headers are sent and answered for, and whose request is still to come. */
async function openWatch(type: "connect" | "grpc") {
  const stream = connection.open({
    ":path": `${packagePath}.EventsService/WatchLog`,
    "content-type": `application/${type}+json`,
    ...bearer(device.token),
  });
  // Another call on the same connection: when it is answered, the headers of the first have been read.
  await connection.send({ ":path": "/healthz", ":method": "GET" });
  return stream;
}

describe("a stream that was opened with a good token, but asks only later", () => {
  test("is refused if its device was revoked meanwhile", async () => {
    const stream = await openWatch("connect");
    await server.operator(DevicesService).revokeDevice({ deviceId: device.deviceId });
    stream.end(frame("{}"));
    const answer = await readAnswer(stream);
    expect(errorIn(answer).code).toBe("unauthenticated");
    expect(answer.body.toString()).not.toContain("devicePaired");
  });

  test("is refused over gRPC, too", async () => {
    const stream = await openWatch("grpc");
    await server.operator(DevicesService).revokeDevice({ deviceId: device.deviceId });
    stream.end(frame("{}"));
    const { headers, trailers, body } = await readAnswer(stream);
    expect(trailers["grpc-status"] ?? headers["grpc-status"]).toBe("16");
    expect(body).toHaveLength(0);
  });

  test("is refused if its token has expired meanwhile", async () => {
    const stream = await openWatch("connect");
    clock.forward(30 * day);
    stream.end(frame("{}"));
    expect(errorIn(await readAnswer(stream)).code).toBe("unauthenticated");
  });

  test("that never asks is let go when the server stops", async () => {
    const stream = await openWatch("connect");
    const answered = readAnswer(stream);
    connection.close();
    await server.stop();
    expect((await answered).status).toBe(0);
    server = await startServer(bench.path, {}, { clock });
  });
});
