import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { pageSizeMax } from "../../../infra/rpc/paging.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { appendTo, openTestLog } from "../../support/backend.js";
import { cli, jsonLines } from "../../support/cli.js";
import { paired } from "../../support/devices.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("pincer devices", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer(bench.path, { activeDevicesMax: 2 });
  });
  afterEach(() => server.stop());

  test("list prints those that were paired, the latest first, and who was replaced", async () => {
    const first = await server.pair("tablet");
    const second = await server.pair("phone");
    const third = await server.pair("new phone");
    const { code, stdout } = await cli(bench.path, "--json", "devices", "list");
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      { device_id: third.deviceId, name: "new phone", state: "active", last_used_at: null, revoked_at: null },
      { device_id: second.deviceId, name: "phone", state: "active" },
      { device_id: first.deviceId, name: "tablet", state: "revoked", revoked_at: expect.any(String) },
    ]);
  });

  test("list goes through all pages", async () => {
    const ids = Array.from({ length: pageSizeMax + 1 }, (_, index) => `device-${index}`);
    const data = bench.elsewhere("crowd");
    const log = openTestLog(data);
    await log.append(appendTo("devices", null, ...ids.map((deviceId) => paired(deviceId, `code-of-${deviceId}`))));
    log.close();
    const crowded = await startServer(data);
    const { stdout } = await cli(data, "--json", "devices", "list");
    expect(jsonLines(stdout)).toEqual(
      ids.reverse().map((device_id): unknown => expect.objectContaining({ device_id })),
    );
    await crowded.stop();
  });

  test("the name of a device cannot speak to the terminal", async () => {
    const name = "\u001b[2J\u202e\n";
    await server.pair(name);
    const { stdout } = await cli(bench.path, "devices", "list");
    expect(stdout).toMatch(/^\S+ {2}active .* used never .*\\u001b\[2J\\u202e\\u000a\n$/);
    expect(jsonLines((await cli(bench.path, "--json", "devices", "list")).stdout)).toMatchObject([{ name }]);
  });

  test("revoke shuts a device out, and says so twice without harm", async () => {
    const { deviceId, token } = await server.pair();
    const threads = server.client(ThreadsService, token);
    await threads.listThreads({});
    for (const asked of ["once", "again"]) {
      const { code, stdout } = await cli(bench.path, "--json", "devices", "revoke", deviceId);
      expect({ asked, code, said: jsonLines(stdout) }).toEqual({
        asked,
        code: 0,
        said: [{ device_id: deviceId, state: "revoked" }],
      });
    }
    await expect(threads.listThreads({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  test("revoke of a device that there is not fails with the refusal", async () => {
    const { code, stderr } = await cli(bench.path, "devices", "revoke", "nobody");
    expect(code).toBe(1);
    expect(stderr).toBe("pincer: [not_found] There is no such device. (device_not_found)\n");
  });

  test.each([[["devices"]], [["devices", "revoke"]], [["devices", "nonsense"]]])("%j is bad usage", async (args) => {
    expect((await cli(bench.path, ...args)).code).toBe(2);
  });
});
