import {
  fromJson,
  toJson,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import { ApprovalsService } from "../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { JobsService } from "../../proto/gen/pincer/protocol/v1/jobs_pb.js";
import { SchedulesService } from "../../proto/gen/pincer/protocol/v1/schedules_pb.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import type { CliContext } from "./context.js";
import { exitCodes, UsageError } from "./exit.js";
import { withServer } from "./socket.js";

const services: readonly DescService[] = [
  ...[AuthService, DevicesService, ThreadsService, TurnsService, EventsService],
  ...[ApprovalsService, JobsService, SchedulesService, SystemService],
];

/** Every method there is, by the name it has on the command line. */
const methods: ReadonlyMap<string, DescMethod> = new Map(
  services.flatMap((service) => service.methods.map((method) => [`${service.name}/${method.name}`, method])),
);

/** Calls a method with JSON and prints what it answers: one value, or one line for each message of a stream. */
export async function rpc(context: CliContext, name: string, request = "{}"): Promise<number> {
  const method = methods.get(name);
  if (method === undefined) {
    throw new UsageError(
      `there is no ${name}; there are\n${[...methods.keys()].map((known) => `  ${known}`).join("\n")}`,
    );
  }
  const { output, signal } = context;
  const input = parseRequest(method, request === "-" ? await text(addAbortSignal(signal, process.stdin)) : request);
  return withServer(context, async (transport) => {
    if (isUnary(method)) {
      const { message } = await transport.unary(method, signal, undefined, undefined, input);
      output.print(toJson(method.output, message), (json) => JSON.stringify(json, null, 2));
      return exitCodes.fine;
    }
    try {
      const { message } = await transport.stream(
        method as DescMethodStreaming,
        signal,
        undefined,
        undefined,
        createAsyncIterable([input]),
      );
      for await (const each of message) {
        output.print(toJson(method.output, each), (json) => JSON.stringify(json));
      }
    } catch (error) {
      if (!signal.aborted) throw error; // Else somebody has seen enough.
    }
    return exitCodes.fine;
  });
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function parseRequest({ input, name }: DescMethod, request: string): MessageShape<DescMessage> {
  try {
    return fromJson(input, JSON.parse(request) as JsonValue);
  } catch (error) {
    throw new UsageError(`this is no request of ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
