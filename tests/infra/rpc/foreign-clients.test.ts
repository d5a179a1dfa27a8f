import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  credentials,
  loadPackageDefinition,
  Metadata,
  status,
  type Client,
  type ClientReadableStream,
  type ServiceError,
} from "@grpc/grpc-js";
import { load } from "@grpc/proto-loader";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { packagePath } from "./raw.js";

const bench = workbench();
const protos = fileURLToPath(new URL("../../../proto", import.meta.url));
let server: TestServer;
let token: string;
const certFile = () => join(bench.path, "tls-cert.pem");

beforeEach(async () => {
  server = await startServer(bench.path);
  ({ token } = await server.pair());
});
afterEach(() => server.stop());

type Answer = Readonly<Record<string, unknown>>;
type Call = (request: object, metadata: Metadata, done: (error: ServiceError | null, answer: Answer) => void) => void;
type StreamCall = (request: object, metadata: Metadata) => ClientReadableStream<Answer>;

describe("@grpc/grpc-js, from the .proto files alone,", () => {
  let client: Client | undefined;
  afterEach(() => client?.close());

  async function clientOf(service: string, file: string): Promise<Record<string, Call & StreamCall>> {
    const definition = await load(`pincer/protocol/v1/${file}.proto`, { includeDirs: [protos], longs: Number });
    let found: unknown = loadPackageDefinition(definition);
    for (const name of ["pincer", "protocol", "v1", service]) found = (found as Answer)[name];
    const authority = new URL(server.running.url).host;
    client = new (found as new (...args: unknown[]) => Client)(
      authority,
      credentials.createSsl(readFileSync(certFile())), // Nothing is switched off: the certificate is its root.
      { "grpc.ssl_target_name_override": "localhost" }, // TLS has no names for addresses, and Node says so each time.
    );
    return client as unknown as Record<string, Call & StreamCall>;
  }

  const authorized = (bearer = token) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${bearer}`);
    return metadata;
  };

  function call(client: Record<string, Call>, method: string, request: object, metadata = authorized()) {
    return new Promise<Answer>((resolve, reject) => {
      client[method]!(request, metadata, (error, answer) => {
        if (error === null) resolve(answer);
        else reject(error);
      });
    });
  }

  test("creates and lists threads", async () => {
    const threads = await clientOf("ThreadsService", "threads");
    const { threadId } = await call(threads, "createThread", {});
    expect(await call(threads, "listThreads", {})).toMatchObject({ items: [{ threadId }] });
  });

  test("is refused with a status and the typed detail in its trailers", async () => {
    const threads = await clientOf("ThreadsService", "threads");
    await expect(call(threads, "listThreads", {}, new Metadata())).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
    const missing = await call(threads, "getThreadSnapshot", { threadId: "nobody" }).catch((error: unknown) => error);
    expect(missing).toMatchObject({ code: status.NOT_FOUND, details: "There is no such thread." });
    const [details] = (missing as ServiceError).metadata.get("grpc-status-details-bin");
    expect(String(details)).toContain("thread_not_found");
  });

  test("hears UNIMPLEMENTED of a method that is not there", async () => {
    const jobs = await clientOf("JobsService", "jobs");
    const [method] = Object.keys(Object.getPrototypeOf(jobs) as object);
    await expect(call(jobs, method!, {})).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });

  test("watches a thread, from its beginning and live, until it leaves", async () => {
    const { threadId } = await server.client(ThreadsService, token).createThread({});
    const stream = (await clientOf("EventsService", "events"))["watchThread"]!({ threadId }, authorized());
    const kinds: unknown[] = [];
    for await (const event of stream as AsyncIterable<Answer>) {
      const [kind] = Object.keys(event).filter((name) =>
        ["heartbeat", "threadCreated", "threadDeleted"].includes(name),
      );
      kinds.push(kind);
      const isUpToDate = (event["heartbeat"] as { upToDate?: boolean } | undefined)?.upToDate === true;
      if (isUpToDate) await server.client(ThreadsService, token).deleteThread({ threadId });
      if (kind === "threadDeleted") break;
    }
    expect(kinds).toEqual(["heartbeat", "threadCreated", "heartbeat", "threadDeleted"]);
  });

  test("is told UNAVAILABLE when the server stops, and so comes again", async () => {
    const { threadId } = await server.client(ThreadsService, token).createThread({});
    const stream = (await clientOf("EventsService", "events"))["watchThread"]!({ threadId }, authorized());
    const ended = once(stream, "end").catch((error: unknown) => error);
    await once(stream, "data");
    stream.resume();
    await server.stop();
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
    server = await startServer(bench.path);
  });
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;
const withCurl = hasCurl ? describe : describe.skip;

withCurl(`curl${hasCurl ? "" : " (skipped: it is not installed)"}, with the certificate as its root,`, () => {
  async function curl(method: string, body: string, ...options: string[]): Promise<{ status: number; answer: Answer }> {
    const { stdout } = await promisify(execFile)("curl", [
      ...["--silent", "--show-error", "--cacert", certFile(), "--write-out", "\n%{http_code} %{http_version}"],
      ...["--header", "content-type: application/json", "--data-binary", body, ...options],
      `${server.running.url}${packagePath}.${method}`,
    ]);
    const [text = "", figures = ""] = stdout.split(/\n(?=[^\n]*$)/);
    const [code, version] = figures.split(" ");
    expect(options).toContain(version === "2" ? "--http2" : "--http1.1");
    return { status: Number(code), answer: JSON.parse(text) as Answer };
  }
  const authorized = () => ["--header", `Authorization: Bearer ${token}`];

  test.each(["--http1.1", "--http2"])("speaks JSON, %s", async (version) => {
    const created = await curl("ThreadsService/CreateThread", "{}", version, ...authorized());
    expect(created).toMatchObject({ status: 200, answer: { lastSequence: "1" } });
    const { threadId } = created.answer;
    const listed = await curl("ThreadsService/ListThreads", '{"pageSize":1}', version, ...authorized());
    expect(listed).toMatchObject({ status: 200, answer: { items: [{ threadId }] } });
    const compressed = await curl("ThreadsService/ListThreads", "{}", version, "--compressed", ...authorized());
    expect(compressed.answer).toEqual(listed.answer);
  });

  test.each(["--http1.1", "--http2"])("is refused in JSON, with the code and its detail, %s", async (version) => {
    const refused = await curl("ThreadsService/ListThreads", "{}", version);
    expect(refused).toMatchObject({ status: 401, answer: { code: "unauthenticated" } });
    const missing = await curl("ThreadsService/GetThreadSnapshot", '{"threadId":"x"}', version, ...authorized());
    expect(missing).toMatchObject({
      status: 404,
      answer: { code: "not_found", details: [{ type: "pincer.protocol.v1.RefusalDetail" }] },
    });
  });
});
