// A server to be measured from outside: node rpc-child.js ours|bare DIRECTORY EVENTS. It says where it is and what a
// client needs, as one line of JSON, and then does what it is told on standard input, a line each, until that ends:
// `append THREAD` appends a message whose text is the time at which it was asked to.
import { create } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { appendTo, openTestLog, quiet } from "../support/backend.js";
import { startServer } from "../support/server.js";
import { threadCreated } from "../support/facts.js";
import { messagesStream, threadStream } from "../../commands/threads/streams.js";
import { systemClock } from "../../infra/ports/system-clock.js";
import { systemIds } from "../../infra/ports/system-ids.js";
import { loadCertificate } from "../../infra/server/certificate.js";
import { ContentTrust } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ListThreadMessagesResponseSchema, ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { MessageRole } from "../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { messageAppend } from "./messages.js";
import type { Place } from "./rpc.js";

const eventsPerAppend = 500;
const deviceCount = 10;
const threadCount = 100;
const listed = 20;

const [kind, directory, eventCount] = process.argv.slice(2) as [string, string, string];
const threadIds = Array.from({ length: threadCount }, () => systemIds.next());
const log = openTestLog(directory);
for (const threadId of threadIds) await log.append(appendTo(threadStream(threadId), threadId, threadCreated));
for (let left = Number(eventCount); left > 0; left -= eventsPerAppend) {
  await log.append(messageAppend(threadIds[0]!, Math.min(left, eventsPerAppend)));
}

if (kind === "ours") await serveOurs();
else await serveBare();

async function serveOurs(): Promise<void> {
  log.close();
  const server = await startServer(directory, { activeDevicesMax: deviceCount });
  const tokens: string[] = [];
  for (let index = 0; index < deviceCount; index++) tokens.push((await server.pair()).token);
  say({ url: server.running.url, threadIds, tokens });
  for await (const line of createInterface({ input: process.stdin })) {
    const [, threadId] = line.split(" ") as [string, string];
    void server.running.log.append(
      appendTo(messagesStream(threadId), threadId, {
        case: "messageCommitted",
        value: { messageId: systemIds.next(), role: MessageRole.USER, text: String(process.hrtime.bigint()) },
      }),
    );
  }
  process.stdout.write(`${JSON.stringify({ rss: process.memoryUsage.rss() })}\n`);
  await server.stop();
}

/** What anybody would write with the same library: the messages are there already, nothing is looked up or checked. */
async function serveBare(): Promise<void> {
  const rows = log.readThread(threadIds[0]!, 0, eventsPerAppend);
  const events = rows.map((row) => log.decode(row).envelope!);
  const texts = events.flatMap(({ payload }) => (payload.case === "messageCommitted" ? [payload.value] : []));
  const page = create(ListThreadMessagesResponseSchema, {
    items: texts.slice(0, listed).map(({ messageId, text }) => ({
      messageId,
      role: "user",
      content: text,
      contentTrust: ContentTrust.TRUSTED_SYSTEM,
      createdAt: { seconds: 1_767_268_800n, nanos: 0 },
    })),
    nextPageToken: "bWVzc2FnZXM6MTIzNDU2",
    lastSequence: 1n,
  });
  const handler = connectNodeAdapter({
    routes: (router) => {
      router.rpc(EventsService.method.watchThread, async function* () {
        for (let sent = 0; sent < Number(eventCount); sent++) yield events[sent % events.length]!;
      });
      router.rpc(ThreadsService.method.listThreadMessages, () => page);
    },
  });
  const { cert, key } = await loadCertificate(
    { files: null, dataDirectory: directory, host: "127.0.0.1" },
    systemClock,
    quiet,
  );
  const server = createSecureServer({ cert, key }, handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  say({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, threadIds, tokens: [""] });
  process.stdin.resume();
  await once(process.stdin, "end");
  process.stdout.write(`${JSON.stringify({ rss: process.memoryUsage.rss() })}\n`);
  process.exit(0);
}

function say(place: Place): void {
  process.stdout.write(`${JSON.stringify(place)}\n`);
}
